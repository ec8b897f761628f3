"""The share of wrong labels, with an interval that holds the model's own error.

The share is read in two ways: from the channel, which comes from rows of which the model is sure, and from the
posterior of all rows. Both are read again from labels with noise planted by the channel, where the truth is known, and
corrected by what they miss there. The estimate is the mean of the four readings. Where a class has few rows to learn
from, these take errors of which the model is sure for wrong labels; there the estimate is drawn to a reading by ranks,
as far as that differs by more than chance, and at most by half of the model's own error: many labels that are wrong in
one way make ranks come out too low. The interval has three parts:

    how much planted noise is missed by, from planting to planting      what a bootstrap would see
    how far the readings lie apart                                      what depends on the way of reading
    a part of the model's own error rate, as it believes it to be       what no reading of these labels can tell

The last part is the larger the fewer rows of a class there are to learn from, for then the model errs where it is sure.
It reaches further down than up: errors that are taken for wrong labels are missing from those that it knows of.

The interval is never narrower than counting the wrong ones among so many rows would be. Labels of classes that the
model has not learnt count as anything from all right to all wrong.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.channel import LEAST, fit_channel, with_rate, without_chance
from labelnoise.auditing.counting import NORMAL, counting_error
from labelnoise.auditing.planted import plant_noise
from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.ranks import share_by_ranks
from labelnoise.auditing.shortlist import Shortlist
from labelnoise.auditing.stream import Probs, taken
from labelnoise.auditing.transition import transition_interval
from labelnoise.rng import Key

REPEATS = 10
ROUNDS = 8  # of refitting; it starts where the first fit ended
FEW = 10  # rows of a class, from which all of the model's own error may pass for wrong labels
BELIEVED = 0.5  # of the model's own error, as far as ranks are trusted to say that it passes for wrong labels
ENOUGH = 180  # rows of a class, from which ranks count for nothing; with a third of them they count in full


@dataclass(frozen=True)
class Rate:
    """The noise rate and the channel that has it, with 95 % intervals."""

    rate: float
    interval: tuple[float, float]
    channel: Channel
    T_low: NDArray[np.float64]  # (K, K) 95 % interval of every entry of T
    T_high: NDArray[np.float64]


def estimate_rate(
    sources: tuple[Probs, ...],
    rows: NDArray[np.int64],
    shortlist: Shortlist,
    labels: NDArray[np.int64],
    *,
    among: int,
    seed: int,
) -> Rate:
    """From labelled rows: their positions in the sources, classes that may be true, labels; drawn from `among` rows."""
    classes = sources[0].shape[1]
    few = fewness(among / classes)
    read = fit_channel(shortlist, labels, classes)
    found = without_chance(read)
    prior = before(shortlist, found)
    seen = after(prior, found.likelihood(shortlist, labels))

    def readings(held: Shortlist, given: NDArray[np.int64], channel: Channel, *key: Key) -> NDArray[np.float64]:
        told, posterior = _readings(held, given, channel)
        ranks = share_by_ranks(sources, rows, held, given, posterior, seed, "ranks", *key) if few else told.mean()
        return np.append(told, ranks)

    def missed(repeat: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        planted = plant_noise(shortlist, seen, found, seed, "planted-noise", repeat)
        held = shortlist.holding(planted.labels, taken(sources, rows, planted.labels))
        again = without_chance(fit_channel(held, planted.labels, classes, found, ROUNDS))
        return readings(held, planted.labels, again, repeat) - (planted.labels != planted.true).mean(), again.T

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        errors, matrices = zip(*threads.map(missed, range(REPEATS)), strict=True)
    first = readings(shortlist, labels, found)
    own_error = 1 - float(prior.max(1).mean())
    estimate = _weighed(first, np.array(errors), few, own_error)
    rate = estimate.rate
    drawing = rate * (1 - rate) * (1 / len(rows) - 1 / among)  # these rows instead of all
    varying = estimate.variance * (1 + 1 / REPEATS) + drawing
    told, least = float(NORMAL * np.sqrt(varying) + estimate.apart), counting_error(rate, among)
    below, above = (max(told + each, least) for each in untold(own_error + max(estimate.excess, 0.0), among / classes))
    channel = replace(found, T=with_rate(found.T, rate / first[0]))
    T_low, T_high = transition_interval(
        channel.T,
        with_rate(read.T, rate / first[0]),
        (found.T, matrices),
        rows=np.bincount(shortlist.classes.ravel(), prior.ravel(), classes).astype(np.float64),
        off=max(below, above) / max(rate, LEAST),
    )
    return Rate(rate, (max(0.0, rate - below), min(1.0, rate + above)), channel, T_low, T_high)


def with_unjudged(found: Rate, rows: NDArray[np.int64], learnt: NDArray[np.bool_], wrong: float) -> Rate:
    """The rate of all labels, from that of classes that are learnt and the expected wrong labels of the others.

    `rows` are those of each given class, (K,).
    """
    if learnt.all():
        return found
    share = float(rows[~learnt].sum() / rows.sum())
    low, high = found.interval
    hidden = np.where(learnt, 0, rows) / np.maximum(rows + rows[:, None], 1)  # of a true class, if all were of it
    T_low, T_high = found.T_low.copy(), np.maximum(found.T_high, hidden)
    T_low[np.diag_indices(len(rows))] *= 1 - np.minimum(hidden.sum(1), 1)
    T_low[~learnt], T_high[~learnt] = 0, 1
    rate = (1 - share) * found.rate + wrong / float(rows.sum())
    return Rate(rate, ((1 - share) * low, (1 - share) * high + share), found.channel, T_low, T_high)


def with_anything(found: Rate) -> Rate:
    """The same, where any share and any matrix are possible."""
    T = found.channel.T
    return replace(found, interval=(0.0, 1.0), T_low=np.zeros_like(T), T_high=np.ones_like(T))


def unknown_rate(rate: float, classes: int) -> Rate:
    """Where the model cannot tell classes apart: a guess, for which any share and any matrix are possible."""
    T = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return Rate(rate, (0.0, 1.0), Channel(T, np.ones(classes), np.zeros(classes)), np.zeros_like(T), np.ones_like(T))


class _Estimate(NamedTuple):
    """The share of wrong labels, from readings by channel and posterior and by ranks."""

    rate: float
    variance: float  # from planting to planting
    apart: float  # half the distance of the four, and how far ranks have drawn it from their mean
    excess: float  # what the four take for wrong labels beyond it


def _weighed(first: NDArray[np.float64], errors: NDArray[np.float64], few: float, own_error: float) -> _Estimate:
    """From the three readings (3,), and by how much they miss each planting, (repeats, 3).

    Ranks are not corrected: as far as classes are drawn right, those of wrong labels are even, whatever the model says.
    """
    missed = errors[:, :2].mean(1)
    four = np.concatenate([first[:2], first[:2] - errors[:, :2].mean(0)])
    gap, chance = first[2] - four.mean(), np.var(errors[:, 2] - missed, ddof=1)
    ranks = few * gap**2 / (gap**2 + chance + 1e-12)
    drawn = float(np.clip(ranks * gap, -BELIEVED * own_error, BELIEVED * own_error))
    rate = float(np.clip(four.mean() + drawn, 0, 1))
    variance = np.var((1 - ranks) * missed + ranks * errors[:, 2], ddof=1)
    return _Estimate(rate, float(variance), float(np.ptp(four) / 2 + abs(drawn)), -drawn)


def _readings(
    shortlist: Shortlist, labels: NDArray[np.int64], channel: Channel
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """The share of wrong labels by the channel, and by the posterior, which is given too."""
    prior = before(shortlist, channel)
    by_channel = (prior * (1 - channel.T.diagonal())[shortlist.classes]).sum(1).mean()
    seen = after(prior, channel.likelihood(shortlist, labels))
    return np.array([by_channel, wrong(shortlist, seen, labels).mean()]), seen


def fewness(rows: float) -> float:
    """How much ranks count, from 0 to 1, given the rows of a class."""
    return float(np.clip(np.log(ENOUGH / max(rows, 1)) / np.log(3), 0, 1))


def untold(own_error: float, rows: float) -> tuple[float, float]:
    """How far below and above the estimate the share may lie for the model's own error, given the rows of a class.

    A share of it passes for wrong labels, or as many wrong labels for it: d = share · (own_error ± d).
    """
    share = float(np.sqrt(FEW / max(rows, FEW)))
    return own_error * share / max(1 - share, LEAST), own_error * share / (1 + share)
