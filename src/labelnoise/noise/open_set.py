"""Open-set noise: inputs that belong to none of the classes, under labels that say they do."""

from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.flip import Draws
from labelnoise.noise.matrix import check_rate
from labelnoise.rng import uniforms
from labelnoise.types import Array

FOREIGN = -1  # the true label of an input that belongs to no class


@overload
def open_set(x: Tensor, rate: float, foreign: Array, *, seed: int) -> tuple[Tensor, Tensor]: ...
@overload
def open_set(x: NDArray[Any], rate: float, foreign: Array, *, seed: int) -> tuple[NDArray[Any], NDArray[np.bool_]]: ...
def open_set(x: Array, rate: float, foreign: Array, *, seed: int) -> Any:
    """Inputs of which a share is replaced by foreign ones, and which rows these are, (N,) of bool.

    Each foreign input is drawn with replacement; labels stay what they are. Wang et al. 2018, "Iterative learning with
    open-set noisy labels".
    """
    check_rate(rate)
    changed, others = torch.as_tensor(x).clone(), torch.as_tensor(foreign)
    if others.shape[1:] != changed.shape[1:] or others.dtype != changed.dtype or not len(others):
        raise InputError(f"foreign inputs must be {_described(changed)} as the others are, not {_described(others)}")
    draws = Draws.of(len(changed), seed)
    replaced = torch.from_numpy(draws.coin < rate)
    source = torch.from_numpy((draws.target * len(others)).astype(np.int64))
    changed[replaced] = others[source[replaced]]
    return (changed, replaced) if isinstance(x, Tensor) else (changed.numpy(), replaced.numpy())


def scrambled(x: Tensor, number: int, *, seed: int) -> Tensor:
    """So many inputs that are like x place by place and like nothing as a whole: each number comes from another row."""
    flat = x.flatten(1)
    mixed = torch.empty((number, flat.shape[1]), dtype=x.dtype)
    for place in range(flat.shape[1]):
        rows = (uniforms(number, seed, "scrambled", place) * len(x)).astype(np.int64)
        mixed[:, place] = flat[torch.from_numpy(rows), place]
    return mixed.reshape(number, *x.shape[1:])


def _described(x: Tensor) -> str:
    return f"{str(x.dtype).removeprefix('torch.')} of shape {tuple(x.shape[1:])}"
