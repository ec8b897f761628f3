"""Flipping labels by a transition matrix, and the one-line notation of noises, such as `symmetric:0.4`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.noise.matrix import (
    DIGIT_MAP,
    TransitionMatrix,
    asymmetric,
    identity,
    pair,
    random_redraw,
    symmetric,
)
from labelnoise.registry import Registry
from labelnoise.rng import hashed, uniforms
from labelnoise.types import Array

MAPS: Mapping[str, Mapping[int, int]] = {"digits": DIGIT_MAP}  # of asymmetric noise, by data set


@dataclass(frozen=True)
class Noise:
    """A transition matrix with the text that defines it."""

    definition: str
    T: TransitionMatrix


@overload
def flip(y: Tensor, T: TransitionMatrix, *, seed: int) -> Tensor: ...
@overload
def flip(y: NDArray[Any], T: TransitionMatrix, *, seed: int) -> NDArray[Any]: ...
def flip(y: Array, T: TransitionMatrix, *, seed: int) -> Array:
    """Draw a given label for each true one; an array comes back as an array, a tensor as a tensor.

    Row i has two uniform draws of its own, one that decides whether its label is wrong and one that picks the wrong
    class. So noise nests: a label flipped at 20 % is flipped to the same class at 40 %.
    """
    if isinstance(y, Tensor):
        return torch.from_numpy(_flip(y.cpu().numpy(), T, seed)).to(y)
    return _flip(np.asarray(y), T, seed)


def corrupt(dataset: Dataset, noise: Noise, *, seed: int, rows: Tensor | None = None) -> Dataset:
    """The data set with the given labels of `rows` (None: all) flipped; the labels before are the true ones.

    Where the truth is known already it stays, and the noise comes on top of the noise that is there.
    """
    if noise.T.classes != len(dataset.classes):
        raise InputError(
            f"noise {noise.definition!r} has {noise.T.classes} classes, "
            f"but data set {dataset.name!r} has {len(dataset.classes)}"
        )
    before = dataset.y_given
    if noise.T.rate() == 0:
        return dataset
    if dataset.noise_rate:
        seed = hashed(seed, "again")  # with the same draws a second flip would undo the first
    chosen = torch.arange(len(dataset)) if rows is None else rows
    y_given = before.clone()
    y_given[chosen] = flip(before, noise.T, seed=seed)[chosen]
    return replace(dataset, y_given=y_given, y_true=before if dataset.y_true is None else dataset.y_true)


Builder = Callable[[str, int, str], TransitionMatrix]  # what follows the colon, number of classes, data set
NOISES: Registry[Builder] = Registry("noise")


def parse(text: str, classes: int, dataset_name: str = "") -> Noise:
    """Read `none`, `symmetric:r`, `random:p`, `pair:r`, `asymmetric:r` or `matrix:PATH.csv`."""
    kind, _, argument = text.strip().partition(":")
    return Noise(text.strip(), NOISES.get(kind)(argument, classes, dataset_name))


@NOISES.register("none")
def _none(argument: str, classes: int, _: str) -> TransitionMatrix:
    if argument:
        raise InputError(f"noise 'none' takes nothing after it, but {argument!r} follows")
    return identity(classes)


@NOISES.register("symmetric")
def _symmetric(argument: str, classes: int, _: str) -> TransitionMatrix:
    return symmetric(classes, _rate("symmetric", argument))


@NOISES.register("random")
def _random(argument: str, classes: int, _: str) -> TransitionMatrix:
    return random_redraw(classes, _rate("random", argument))


@NOISES.register("pair")
def _pair(argument: str, classes: int, _: str) -> TransitionMatrix:
    return pair(classes, _rate("pair", argument))


@NOISES.register("asymmetric")
def _asymmetric(argument: str, classes: int, dataset_name: str) -> TransitionMatrix:
    rate = _rate("asymmetric", argument)
    if dataset_name not in MAPS:
        raise InputError(
            f"asymmetric noise has no class map for data set {dataset_name!r}, only for {', '.join(MAPS)}; "
            "use pair or matrix"
        )
    return asymmetric(classes, rate, MAPS[dataset_name])


@NOISES.register("matrix")
def _matrix(argument: str, classes: int, _: str) -> TransitionMatrix:
    T = TransitionMatrix.from_rows(_read_csv(Path(argument)))
    if T.classes != classes:
        raise InputError(f"the noise matrix in {argument} is for {T.classes} classes, but the data have {classes}")
    return T


def _rate(kind: str, argument: str) -> float:
    try:
        return float(argument)
    except ValueError:
        raise InputError(f"noise {kind!r} needs a rate, as in {kind}:0.4, not {argument!r}") from None


def _read_csv(path: Path) -> list[list[float]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the noise matrix {path} cannot be read: {error}") from None
    rows = [_numbers(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            raise InputError(f"row {i} of the noise matrix in {path} has {len(row)} entries, not {len(rows)}")
    return rows


def _numbers(path: Path, number: int, line: str) -> list[float]:
    try:
        return [float(cell) for cell in line.split(",")]
    except ValueError as error:
        raise InputError(f"line {number} of the noise matrix in {path} is not a row of numbers: {error}") from None


def _flip(y: NDArray[Any], T: TransitionMatrix, seed: int) -> NDArray[Any]:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise InputError(f"y must be a vector of whole numbers, not {y.dtype} of shape {y.shape}")
    outside = np.flatnonzero((y < 0) | (y >= T.classes))
    if len(outside):
        raise InputError(f"y holds {y[outside[0]]} in row {outside[0]}, but T has classes 0 to {T.classes - 1}")
    coin, target = uniforms(len(y), seed, "noise-coin"), uniforms(len(y), seed, "noise-target")
    flipped = y.copy()
    for true, probs in enumerate(np.asarray(T)):
        rows = np.flatnonzero((y == true) & (coin < 1 - probs[true]))
        reached = np.cumsum(np.where(np.arange(T.classes) == true, 0, probs))  # of all wrong classes up to this one
        flipped[rows] = np.searchsorted(reached / max(reached[-1], np.finfo(float).tiny), target[rows], side="right")
    return flipped
