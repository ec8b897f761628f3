"""The channel by expectation and maximisation, T from the rows of which the model is surest.

Labels and probabilities alone cannot tell a wrong label from an input that is of two classes. What tells them apart is
that every class has rows that are clearly of it: among these a label that differs is wrong. So through the rows that
the model takes for a class a line is laid, the share of each label against the model's doubt, and T is read off where
the doubt is least. Scale and shift are fitted to all rows.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.posterior import Channel, after, scaled
from labelnoise.auditing.shortlist import Shortlist, floored

ROUNDS = 40
SUREST = 10  # rows of a class whose doubt is the least that there is
STRENGTH = 10.0  # rows' worth of belief that a class errs as often as all do, and anywhere alike
ALIKE = 20.0  # rows' worth of belief that all classes have one scale
EVENLY = 2.0  # a pair of classes stands out whose errors are so many times more, or fewer, than even ones would be
STRIDE = 0.2  # no scale changes more in a round
CLEAR = 0.7  # the line goes through rows that are of the class with at least this probability
LEAST = 1e-4  # no channel is cleaner than this


@dataclass(frozen=True)
class Pairs:
    """The pairs (true, given) that occur: T is counted over these, however many classes there are."""

    true: NDArray[np.int64]  # (P,)
    given: NDArray[np.int64]  # (P,)
    place: NDArray[np.int64]  # (n, m) which pair a class on a row's shortlist makes with the row's label

    @classmethod
    def of(cls, shortlist: Shortlist, labels: NDArray[np.int64], classes: int) -> "Pairs":
        """Those of classes on the shortlist and labels."""
        codes = shortlist.classes.astype(np.int64) * classes + labels[:, None]
        number = np.zeros(classes**2, np.int64)
        number[codes] = 1
        found = np.flatnonzero(number)  # as np.unique does, without sorting
        number[found] = np.arange(len(found))
        return cls(found // classes, found % classes, number[codes])


def fit_channel(
    shortlist: Shortlist,
    labels: NDArray[np.int64],
    classes: int,
    start: Channel | None = None,
    rounds: int = ROUNDS,
) -> Channel:
    """The channel under which the labels are likely, T as it is read off; the shortlist must hold them."""
    channel = start or _first(classes)
    pairs = Pairs.of(shortlist, labels, classes)
    logs = np.log(floored(shortlist.probs))
    scale, shift, T = channel.scale, channel.shift, channel.T[pairs.true, pairs.given]
    for _ in range(rounds):
        prior = scaled(logs, shortlist.classes, scale, shift)
        seen = after(prior, T.astype(np.float32)[pairs.place])
        counts = _read_off(shortlist, pairs, prior, classes)
        T = _drawn_together(pairs, counts, classes)
        scale, shift = _calibrated(scale, shift, shortlist.classes, logs, prior=prior, seen=seen)
    return Channel(_dense(pairs, counts, classes), scale, shift)


def without_chance(channel: Channel) -> Channel:
    """The same, but in T pairs stand out only by more than a factor of two, for less is often the model's doing."""
    T = channel.T
    rate = 1 - T.diagonal()
    ratio = T * ((len(T) - 1) / rate)[:, None]  # 1 where errors are spread evenly
    fewer = np.minimum(ratio * EVENLY, 1)
    ratio /= EVENLY
    np.maximum(fewer, ratio, out=ratio)  # in place, for there may be millions of pairs
    np.fill_diagonal(ratio, 0)
    return replace(channel, T=_with_diagonal(ratio * (rate / ratio.sum(1))[:, None]))


def with_rate(T: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """T with so many times the errors, at most 99 % of a class."""
    rate = 1 - T.diagonal()
    return _with_diagonal(T * (np.clip(rate * factor, LEAST, 0.99) / rate)[:, None])


def _first(classes: int) -> Channel:
    T = np.full((classes, classes), 0.2 / (classes - 1))
    return Channel(_with_diagonal(T), np.full(classes, 1.5), np.zeros(classes))


def _read_off(shortlist: Shortlist, pairs: Pairs, prior: NDArray[np.float32], classes: int) -> NDArray[np.float64]:
    """Labels by pair where the doubt is least, in as many rows as a mean of equal weights would need to be as exact."""
    clear = prior.max(1) >= CLEAR
    rows = np.flatnonzero(clear) if clear.any() else np.arange(len(prior))
    best = prior[rows].argmax(1)
    guess, doubt = shortlist.classes[rows, best], 1 - prior[rows, best].astype(np.float64)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(guess, values, classes).astype(np.float64)

    size = np.maximum(np.bincount(guess, minlength=classes), 1)
    middle = summed(doubt) / size
    off = doubt - middle[guess]
    slope = (_least_doubt(guess, doubt, classes) - middle) / (summed(off**2) + 1e-9 * size)
    weights = 1 / size[guess] + slope[guess] * off  # a line's value there is this mean of labels
    worth = 1 / np.maximum(summed(weights**2), 1e-12)
    counts = np.bincount(pairs.place[rows, best], weights * worth[guess], len(pairs.true))
    return np.maximum(counts, 0)


def _least_doubt(guess: NDArray[np.int32], doubt: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The mean doubt of the surest rows of each class."""
    order = np.argsort(guess + 0.999 * doubt)  # by class, the surest first
    size = np.bincount(guess, minlength=classes)
    rank = np.arange(len(guess)) - np.repeat(np.cumsum(size) - size, size)
    first = order[rank < SUREST]
    total = np.bincount(guess[first], doubt[first], classes)
    return total / np.maximum(np.minimum(size, SUREST), 1)


def _drawn_together(pairs: Pairs, counts: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """T of each pair, drawn towards errors that are the same everywhere."""
    right, rate = pairs.true == pairs.given, _rate(pairs, counts)
    believed = np.where(right, 1 - rate, rate / (classes - 1))
    total = np.bincount(pairs.true, counts, classes) + STRENGTH
    return (counts + STRENGTH * believed) / total[pairs.true]


def _dense(pairs: Pairs, counts: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The same as a matrix (K, K), with pairs that do not occur."""
    rate = _rate(pairs, counts)
    T = np.full((classes, classes), STRENGTH * rate / (classes - 1))
    np.fill_diagonal(T, STRENGTH * (1 - rate))
    T[pairs.true, pairs.given] += counts
    T /= T.sum(1, keepdims=True)
    return T


def _rate(pairs: Pairs, counts: NDArray[np.float64]) -> float:
    return max(LEAST, 1 - float(counts[pairs.true == pairs.given].sum() / counts.sum()))


def _calibrated(
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
    classes: NDArray[np.int32],
    logs: NDArray[np.float32],
    *,
    prior: NDArray[np.float32],
    seen: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Towards η = r: a step of all scales together, and half a Newton step of each class's own scale and shift.

    Expectation and maximisation alone would take hundreds of rounds to sharpen a model that is sure of little. The step
    together is that of Newton on the likelihood itself, whose curvature the squares of the rows' slopes estimate.
    """

    def summed(values: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.bincount(classes.ravel(), values.ravel(), len(scale)).astype(np.float64)

    off, bend = seen - prior, prior * (1 - prior)
    slope = summed(off * logs) - ALIKE * (scale - scale.mean())
    own = 0.5 * slope / (summed(bend * logs * logs) + ALIKE + 1)
    by_row = (off * logs).sum(1, dtype=np.float64)
    together = np.clip(by_row.sum() / (by_row @ by_row + 1), -STRIDE, STRIDE)
    moved = shift + 0.5 * summed(off) / (summed(bend) + 1)
    return np.clip(scale + own - own.mean() + together, 0.1, 8), moved - moved.mean()


def _with_diagonal(T: NDArray[np.float64]) -> NDArray[np.float64]:
    np.fill_diagonal(T, 0)
    np.fill_diagonal(T, 1 - T.sum(1))
    return T
