"""Small data sets that need no download."""

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import torch

from labelnoise.data.arrays import unscaled
from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.rng import Rng, hashed
from labelnoise.types import Array

POINTS = 2000
MOON_POINTS = 10_000  # of each of its two draws


@DATASETS.register("digits")
def digits(_: int) -> Dataset:
    """1,797 handwritten digits, (1, 8, 8) on [0, 1]; the same whatever the seed."""
    return _digits()


@DATASETS.register("moons")
def moons(seed: int) -> Dataset:
    """Two interleaved half circles in the plane, blurred by a tenth of their radius.

    Englesson et al. 2023, "Logistic-Normal Likelihoods for Heteroscedastic Label Noise", Figure 3, which names neither
    the number of points nor the blur: both are ours.
    """
    x, y = _sklearn().make_moons(POINTS, noise=0.1, random_state=_state(seed, "moons"))
    return _true("moons", x, y, ("upper", "lower"))


@DATASETS.register("moon")
def moon(seed: int) -> Dataset:
    """Two interleaved half circles, blurred by a twentieth of their radius: 10,000 to learn from, as many for the test.

    Yao et al. 2021, "Instance-dependent Label-noise Learning under a Structural Causal Model" (CausalNL), Figure 2. Its
    noise, `instance:0.45`, does not depend on x where there are two classes, for one class alone is left to flip to.
    """
    parts = [
        _sklearn().make_moons(MOON_POINTS, noise=0.05, random_state=_state(seed, name))
        for name in ("moon", "moon test")
    ]
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    return replace(_true("moon", x, y, ("upper", "lower")), test=torch.arange(MOON_POINTS, 2 * MOON_POINTS))


@DATASETS.register("circles")
def circles(seed: int) -> Dataset:
    """A circle and one of half its radius inside it, blurred by a twentieth of the outer radius.

    The same paper and figure as `moons`; the number of points, the blur and the inner radius are ours.
    """
    x, y = _sklearn().make_circles(POINTS, noise=0.05, factor=0.5, random_state=_state(seed, "circles"))
    return _true("circles", x, y, ("outer", "inner"))


@DATASETS.register("gaussians")
def gaussians(seed: int) -> Dataset:
    """Two narrow Gaussians in the plane, means -(1, 1) and (1, 1), covariance 0.01 I.

    Lukasik et al. 2020, "Does label smoothing mitigate label noise?", Figure 5. That 5 % of the negatives are labelled
    positive there is noise, T = [[0.95, 0.05], [0, 1]], and no part of the data.
    """
    y = torch.arange(POINTS) % 2
    x = 0.1 * Rng(seed, "gaussians").normal(POINTS, 2) + (2 * y - 1)[:, None]
    return _true("gaussians", x, y, ("negative", "positive"))


@cache  # runs with different seeds share one copy of the images
def _digits() -> Dataset:
    digits = _sklearn().load_digits()
    return _true("digits", digits.images[:, None] / 16, digits.target, tuple("0123456789"))


def _sklearn() -> Any:
    # late, for the import takes a second
    return import_module("sklearn.datasets")


def _state(seed: int, name: str) -> int:
    return hashed(seed, name) % 2**32


def _true(name: str, x: Array, y: Array, classes: tuple[str, ...]) -> Dataset:
    encoding = unscaled(x.shape[1:])
    made = Dataset.from_arrays(x, y, y_true=y, classes=classes, name=name, encoding=encoding)
    return replace(made, known_as=name)
