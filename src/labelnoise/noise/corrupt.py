"""Noise added to a data set."""

from dataclasses import replace

import torch
from torch import Tensor

from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.errors import InputError
from labelnoise.noise.grammar import parse
from labelnoise.noise.kinds import Noise
from labelnoise.rng import hashed


def corrupt(dataset: Dataset, noise: Noise | str, *, seed: int, rows: Tensor | None = None) -> Dataset:
    """The data set with the given labels of `rows` (None: all) drawn anew; the labels before are the true ones.

    Noise may be a text, such as `symmetric:0.4`. Where the truth is known already it stays, and the noise comes on top
    of the noise that is there.
    """
    noise = noise_for(dataset, noise)
    if noise.T is not None and noise.T.classes != len(dataset.classes):
        raise InputError(
            f"noise {noise.definition!r} has {noise.T.classes} classes, "
            f"but data set {dataset.name!r} has {len(dataset.classes)}"
        )
    if noise.rate == 0:
        return dataset
    if dataset.noise_rate:
        seed = hashed(seed, "again")  # with the same draws a second flip would undo the first
    chosen = torch.arange(len(dataset)) if rows is None else rows
    if dataset.y_true is None:
        dataset = replace(dataset, y_true=dataset.y_given, assumed=True)
    return noise.draw(dataset, chosen, seed)


def noise_for(dataset: Dataset, noise: Noise | str) -> Noise:
    """The noise that a text means for a data set; one of a name that is not built in has no noise of its own."""
    known_as = dataset.known_as if dataset.known_as in DATASETS else ""
    return parse(noise, len(dataset.classes), known_as) if isinstance(noise, str) else noise
