"""The transition matrix T[i, j] = P(given j | true i), whose rows sum to 1, and the usual ways to build one.

A noisy posterior is `p @ T`. A rate is the probability that a label is wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from labelnoise.errors import InputError

SUM_TOLERANCE = 1e-6
MOST_CONDITION = 1e12  # beyond it an inverse in double precision has hardly four digits left


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """A matrix that has been checked: the rows are true classes, the columns given ones."""

    probs: Tensor  # (K, K) float64, on the CPU

    def __post_init__(self) -> None:
        probs = torch.as_tensor(self.probs).detach().to("cpu", torch.float64, copy=True)
        _check(probs)
        object.__setattr__(self, "probs", probs)

    @classmethod
    def from_rows(cls, rows: ArrayLike) -> "TransitionMatrix":
        """From nested sequences or an array whose rows are true classes."""
        return cls(_tensor(rows))

    @classmethod
    def from_columns(cls, columns: ArrayLike) -> "TransitionMatrix":
        """From the transposed convention, in which the columns are true classes and sum to 1."""
        return cls(_tensor(columns).T)

    def __getitem__(self, index: tuple[int, int]) -> float:
        true, given = index
        return self.probs[true, given].item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probs.numpy(), dtype=dtype)

    @property
    def classes(self) -> int:
        """The number of classes, K."""
        return len(self.probs)

    def rate(self, prior: Tensor | None = None) -> float:
        """The probability that a label is wrong when true classes have this prior (K,), by default a uniform one."""
        wrong = 1 - self.probs.diagonal()
        if prior is None:
            return wrong.mean().item()
        if prior.shape != (self.classes,) or abs(prior.double().sum().item() - 1) > SUM_TOLERANCE:
            raise InputError(f"prior must be {self.classes} probabilities that sum to 1, not {prior.tolist()}")
        return (prior.double() @ wrong).item()

    def inverse(self) -> Tensor:
        """T⁻¹, (K, K): a clean posterior is `noisy @ T⁻¹`."""
        condition = torch.linalg.cond(self.probs).item()
        if not condition < MOST_CONDITION:
            raise InputError(f"T has no usable inverse (condition number {condition:.1e}); lower the noise rate")
        inverse: Tensor = torch.linalg.inv(self.probs)
        return inverse


def identity(classes: int) -> TransitionMatrix:
    """No noise."""
    return asymmetric(classes, 0.0, {})


def symmetric(classes: int, rate: float) -> TransitionMatrix:
    """Wrong with probability `rate`, and then any other class equally likely, never the true one."""
    _check_arguments(classes, rate)
    others = 1 - torch.eye(classes, dtype=torch.float64)
    return TransitionMatrix((1 - rate) * (1 - others) + rate / (classes - 1) * others)


def random_redraw(classes: int, p: float) -> TransitionMatrix:
    """With probability p redrawn over all classes, the true one included: wrong with probability p (K - 1) / K."""
    _check_arguments(classes, p)
    return TransitionMatrix((1 - p) * torch.eye(classes, dtype=torch.float64) + p / classes)


def pair(classes: int, rate: float) -> TransitionMatrix:
    """Each class is mistaken for the next one, the last for the first."""
    _check_arguments(classes, rate)
    return asymmetric(classes, rate, {i: (i + 1) % classes for i in range(classes)})


def asymmetric(classes: int, rate: float, mapping: Mapping[int, int]) -> TransitionMatrix:
    """Each class of the mapping is mistaken for its image with probability `rate`; the others are never wrong."""
    _check_arguments(classes, rate)
    probs = torch.eye(classes, dtype=torch.float64)
    for true, given in mapping.items():
        if true == given or not (0 <= true < classes and 0 <= given < classes):
            raise InputError(f"mapping {true} to {given} must join two different classes out of 0 to {classes - 1}")
        probs[true, true] = 1 - rate
        probs[true, given] = rate
    return TransitionMatrix(probs)


def uniform_off_diagonal(columns: Sequence[float]) -> TransitionMatrix:
    """Every other class turns into class j with the same probability e_j: T = (1 - Σ e) I + 1 eᵀ."""
    e = torch.tensor(columns, dtype=torch.float64)
    if e.ndim != 1 or not (e >= 0).all() or not e.sum() < 1:
        raise InputError(f"uniform off-diagonal noise needs a probability per class, below 1 in sum, not {columns}")
    return TransitionMatrix((1 - e.sum()) * torch.eye(len(e), dtype=torch.float64) + e)


def sparse_pairs(
    classes: int, forth: float, back: float, pairs: Sequence[tuple[int, int]] | None = None
) -> TransitionMatrix:
    """Classes are confused in disjoint pairs: the first for the second with probability `forth`, else with `back`.

    Without `pairs` they are (0, 1), (2, 3), …; the last of an odd number of classes is never wrong.
    """
    both = [(i, i + 1) for i in range(0, classes - 1, 2)] if pairs is None else pairs
    if len({i for pair in both for i in pair}) < 2 * len(both):
        raise InputError(f"pairs must be disjoint, but a class is in two of {list(both)}")
    there = asymmetric(classes, forth, dict(both)).probs
    return TransitionMatrix(there + asymmetric(classes, back, {j: i for i, j in both}).probs - torch.eye(classes))


def check_rate(rate: float, most: float = 1.0) -> None:
    """Raise where a number cannot be a noise rate."""
    if not 0 <= rate < most:
        hint = f"; write {rate / 100:g} for {rate:g} %" if 1 < rate < 100 * most else ""
        raise InputError(f"a noise rate must be at least 0 and below {most:g}, not {rate}{hint}")


def _tensor(matrix: ArrayLike) -> Tensor:
    try:
        return torch.from_numpy(np.array(matrix, dtype=np.float64))
    except (ValueError, TypeError) as problem:
        raise InputError(f"T must be a square table of numbers ({problem})") from None


def _check(probs: Tensor) -> None:
    if probs.ndim != 2 or probs.shape[0] != probs.shape[1] or len(probs) < 2:
        raise InputError(f"T must be square with at least two classes, not of shape {tuple(probs.shape)}")
    bad = (~(probs >= 0)).nonzero()  # NaN is not at least 0
    if len(bad):
        i, j = bad[0].tolist()
        raise InputError(f"T[{i}, {j}] is {probs[i, j].item():g}; every entry must be a probability")
    sums = probs.sum(1)
    off = ((sums - 1).abs() > SUM_TOLERANCE).nonzero()
    if len(off):
        row = int(off[0])
        hint = "; for columns that sum to 1 use from_columns" if _stochastic(probs.T) else ", not to 1"
        raise InputError(f"row {row} of T sums to {sums[row].item():.8g}{hint}")


def _stochastic(probs: Tensor) -> bool:
    return bool(((probs.sum(1) - 1).abs() <= SUM_TOLERANCE).all())


def _check_arguments(classes: int, rate: float) -> None:
    if classes < 2:
        raise InputError(f"noise needs at least two classes, not {classes}")
    check_rate(rate)
