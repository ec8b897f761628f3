"""Open-set noise: inputs that belong to none of the classes, under labels that say they do."""

import numpy as np
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.flip import Draws
from labelnoise.noise.matrix import check_rate
from labelnoise.rng import uniforms

FOREIGN = -1  # the true label of an input that belongs to no class


def open_set(x: Tensor, rate: float, foreign: Tensor, *, seed: int) -> tuple[Tensor, Tensor]:
    """Inputs of which a share is replaced by foreign ones, and which rows these are, (N,) of bool.

    Each foreign input is drawn with replacement; labels stay what they are. Wang et al. 2018, "Iterative learning with
    open-set noisy labels".
    """
    check_rate(rate)
    if foreign.shape[1:] != x.shape[1:] or foreign.dtype != x.dtype or not len(foreign):
        raise InputError(
            f"foreign inputs must be like the others, {x.dtype} of shape {tuple(x.shape[1:])}, "
            f"not {foreign.dtype} of shape {tuple(foreign.shape[1:])}"
        )
    draws = Draws.of(len(x), seed)
    replaced = torch.from_numpy(draws.coin < rate)
    source = torch.from_numpy((draws.target * len(foreign)).astype(np.int64))
    changed = x.clone()
    changed[replaced] = foreign[source[replaced]]
    return changed, replaced


def scrambled(x: Tensor, number: int, *, seed: int) -> Tensor:
    """So many inputs that are like x place by place and like nothing as a whole: each number comes from another row."""
    flat = x.flatten(1)
    mixed = torch.empty((number, flat.shape[1]), dtype=x.dtype)
    for place in range(flat.shape[1]):
        rows = (uniforms(number, seed, "scrambled", place) * len(x)).astype(np.int64)
        mixed[:, place] = flat[torch.from_numpy(rows), place]
    return mixed.reshape(number, *x.shape[1:])
