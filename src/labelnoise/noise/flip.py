"""Given labels drawn from true ones by a transition matrix, row by row or in exact counts."""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.matrix import TransitionMatrix
from labelnoise.rng import uniforms
from labelnoise.types import Array

Matrix = TransitionMatrix | ArrayLike | Tensor
Labels = NDArray[Any]


class Details(NamedTuple):
    """What labels were drawn from; arrays where y is one, and tensors where it is one."""

    P: Array  # (N, K) probability of each given label
    rates: Array  # (N,) probability of a wrong one
    realised: float  # share of labels that are wrong


class Draws(NamedTuple):
    """Two uniform numbers for each row: the first decides whether its label is wrong, the second which one it gets.

    They depend on the seed and the row's position alone. So noise nests: a label flipped at 20 % is flipped to the same
    class at 40 %.
    """

    coin: NDArray[np.float64]  # (N,)
    target: NDArray[np.float64]  # (N,)

    @classmethod
    def of(cls, rows: int, seed: int) -> "Draws":
        """For so many rows."""
        return cls(uniforms(rows, seed, "noise-coin"), uniforms(rows, seed, "noise-target"))

    def at(self, rows: NDArray[Any]) -> "Draws":
        """Of some rows only."""
        return Draws(self.coin[rows], self.target[rows])


@overload
def flip(y: Tensor, T: Matrix, *, seed: int, exact: bool = False) -> Tensor: ...
@overload
def flip(y: Labels, T: Matrix, *, seed: int, exact: bool = False) -> Labels: ...
@overload
def flip(y: Tensor, T: Matrix, *, seed: int, exact: bool = False, details: Literal[True]) -> tuple[Tensor, Details]: ...
@overload
def flip(y: Labels, T: Matrix, *, seed: int, exact: bool = False, details: Literal[True]) -> tuple[Labels, Details]: ...
def flip(y: Array, T: Matrix, *, seed: int, exact: bool = False, details: bool = False) -> Any:
    """Draw a given label for each true one; an array comes back as an array, a tensor as a tensor.

    Rows are drawn one by one, each with its own random numbers; `exact` makes n_i T[i, j] labels j of the n_i rows of
    class i instead, rounded such that the class has its rate, as label files of some papers do (which round down).
    `details` comes with what the labels were drawn from.
    """
    matrix = T if isinstance(T, TransitionMatrix) else TransitionMatrix.from_rows(np.asarray(T))
    true = labels(y, matrix.classes)
    given = redraw(true, matrix, Draws.of(len(true), seed), exact=exact)
    return finished(y, given, np.asarray(matrix)[true] if details else None)


def redraw(y: Labels, T: TransitionMatrix, draws: Draws, *, exact: bool = False) -> Labels:
    """Labels for true ones that are known to fit the matrix, from these random numbers."""
    given = y.copy()
    for true, probs in enumerate(np.asarray(T)):
        rows = np.flatnonzero(y == true)
        others = np.where(np.arange(T.classes) == true, 0, probs)
        if exact:
            targets = _in_turn(others, round(len(rows) * others.sum()))
            given[rows[np.argsort(draws.coin[rows], kind="stable")[: len(targets)]]] = targets
        else:
            wrong = rows[draws.coin[rows] < 1 - probs[true]]
            given[wrong] = pick(others, draws.target[wrong])
    return given


def pick(weights: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class at each target in [0, 1) when classes share that interval by their weights, (K,) or (n, K)."""
    reached = np.cumsum(weights, axis=-1)
    reached /= np.maximum(reached[..., -1:], np.finfo(float).tiny)
    return np.asarray(
        (np.atleast_2d(reached) <= target[:, None]).sum(1).clip(max=weights.shape[-1] - 1), dtype=np.int64
    )


def labels(y: Array, classes: int) -> Labels:
    """Labels as an array that has been checked."""
    vector = y.cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if vector.ndim != 1 or vector.dtype.kind not in "iu":
        raise InputError(f"y must be a vector of whole numbers, not {vector.dtype} of shape {vector.shape}")
    outside = np.flatnonzero((vector < 0) | (vector >= classes))
    if len(outside):
        row = outside[0]
        raise InputError(f"y holds {vector[row]} in row {row}, but the classes are 0 to {classes - 1}")
    return vector


def finished(y: Array, given: Labels, P: NDArray[np.float64] | None) -> Any:
    """Labels in the kind of y, with details if their probabilities come along."""
    typed = given.astype(np.asarray(y.cpu() if isinstance(y, Tensor) else y).dtype)
    result = torch.from_numpy(typed).to(y) if isinstance(y, Tensor) else typed
    if P is None:
        return result
    true = y.cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    rates = 1 - P[np.arange(len(true)), true]
    realised = float((given != true).mean()) if len(true) else 0.0
    if isinstance(y, Tensor):
        return result, Details(torch.from_numpy(P).to(y.device), torch.from_numpy(rates).to(y.device), realised)
    return result, Details(P, rates, realised)


def _in_turn(weights: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    # So many classes, each as often as its weight asks for, in an order that goes on where a smaller number ends:
    # the t-th of class j comes at (t + ½) / weight (the rounding of Webster).
    if not number:
        return np.empty(0, np.int64)
    most = np.where(weights > 0, np.ceil(number * weights / weights.sum()) + 1, 0).astype(int)
    targets = np.repeat(np.arange(len(weights)), most)
    turn = np.concatenate([np.arange(each) for each in most]) + 0.5
    return targets[np.argsort(turn / weights[targets], kind="stable")[:number]]
