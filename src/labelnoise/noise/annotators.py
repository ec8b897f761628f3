"""Several simulated annotators, each with a confusion matrix of its own, and what is made of their labels.

The three ways to make one label of three are those of CIFAR-10N (Wei et al. 2022).
"""

from collections.abc import Sequence
from typing import Literal, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.flip import Labels, flip
from labelnoise.noise.matrix import TransitionMatrix
from labelnoise.rng import hashed, uniforms
from labelnoise.types import Array

Vote = Literal["random", "aggregate", "worst"]
VOTES = get_args(Vote)


def annotators(classes: int, rate: float, *, number: int = 3, seed: int = 0) -> tuple[TransitionMatrix, ...]:
    """Annotators whose rates of wrong labels go evenly from half of `rate` to one and a half times it.

    Which classes an annotator mistakes for which is drawn at random, any proportion being equally likely.
    """
    if not 0 <= rate < 2 / 3 or number < 2:
        raise InputError(f"annotators must be at least 2 with a rate from 0 to below 2/3, not {number} with {rate}")
    return tuple(
        _annotator(classes, rate * (0.5 + each / (number - 1)), hashed(seed, "annotator", each))
        for each in range(number)
    )


@overload
def annotate(y: Tensor, matrices: Sequence[TransitionMatrix], *, seed: int) -> Tensor: ...
@overload
def annotate(y: Labels, matrices: Sequence[TransitionMatrix], *, seed: int) -> Labels: ...
def annotate(y: Array, matrices: Sequence[TransitionMatrix], *, seed: int) -> Array:
    """The labels that annotators give to rows with these true ones, (A, N)."""
    drawn = [flip(np.asarray(y), T, seed=hashed(seed, "annotate", each)) for each, T in enumerate(matrices)]
    return torch.from_numpy(np.stack(drawn)) if isinstance(y, Tensor) else np.stack(drawn)


@overload
def vote(given: Tensor, how: Vote, *, y_true: Tensor, seed: int) -> Tensor: ...
@overload
def vote(given: Labels, how: Vote, *, y_true: Labels, seed: int) -> Labels: ...
def vote(given: Array, how: Vote, *, y_true: Array, seed: int) -> Array:
    """One label out of several, (A, N) to (N,): `random`, any one; `aggregate`, the most frequent; `worst`, a wrong.

    Among equals, and where no label is wrong, one is taken at random.
    """
    if how not in VOTES:
        raise InputError(f"labels of annotators are made one by {', '.join(VOTES)}, not by {how!r}")
    labels = np.asarray(given)
    if how == "aggregate":
        weight = (labels[:, None] == labels[None]).sum(0)  # (A, N): how many agree
    else:
        weight = (labels != np.asarray(y_true)).astype(int) if how == "worst" else np.zeros(labels.shape, int)
    # Ties are broken by a number of each annotator and row below 1, which no count can outweigh.
    lot = np.stack([uniforms(labels.shape[1], seed, "vote", each) for each in range(len(labels))])
    chosen: Labels = np.take_along_axis(labels, (weight + lot).argmax(0)[None], 0)[0]
    return torch.from_numpy(chosen) if isinstance(given, Tensor) else chosen


def voted(matrices: Sequence[TransitionMatrix], how: Vote) -> TransitionMatrix:
    """The matrix of the one label that is made of those of three annotators, in closed form."""
    if len(matrices) != 3:
        raise InputError(f"the matrix of a vote is known for three annotators, not for {len(matrices)}")
    P = np.stack([np.asarray(T) for T in matrices])  # (3, K, K): annotator, true, given
    form = {"random": _at_random, "aggregate": _most_frequent, "worst": _wrong_if_any}[how]
    return TransitionMatrix.from_rows(form(P))


def _at_random(P: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(P.mean(0))


def _most_frequent(P: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.asarray(P.prod(0))
    for each in range(3):
        a, b, c = P[each], P[(each + 1) % 3], P[(each + 2) % 3]
        total += a * b * (1 - c)  # two agree
        # all three differ, and this one's label is drawn: neither b nor c says it, nor do they agree on another
        total += a * ((1 - b) * (1 - c) - ((b * c).sum(1, keepdims=True) - b * c)) / 3
    return total


def _wrong_if_any(P: NDArray[np.float64]) -> NDArray[np.float64]:
    right = np.diagonal(P, axis1=1, axis2=2)[:, :, None]  # (3, K, 1): of each annotator and true class
    total: NDArray[np.float64] = np.zeros(P.shape[1:])
    for each in range(3):
        b, c = right[(each + 1) % 3], right[(each + 2) % 3]
        total += P[each] * (b * c + (b * (1 - c) + c * (1 - b)) / 2 + (1 - b) * (1 - c) / 3)
    np.fill_diagonal(total, right.prod(0)[:, 0])
    return total


def _annotator(classes: int, rate: float, seed: int) -> TransitionMatrix:
    shares = -np.log1p(-uniforms(classes * classes, seed, "confusion").reshape(classes, classes))
    np.fill_diagonal(shares, 0.0)
    probs = rate * shares / shares.sum(1, keepdims=True)
    np.fill_diagonal(probs, 1 - rate)
    return TransitionMatrix.from_rows(probs)
