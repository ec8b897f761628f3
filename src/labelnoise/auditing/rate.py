"""The share of wrong labels, with an interval that holds the model's own error.

The share is read in two ways: from the channel, which comes from rows of which the model is sure, and from the
posterior of all rows. Both are read again from labels with noise planted by the channel, where the truth is known, and
corrected by what they miss there. The estimate is the mean of the four readings. The interval has three parts:

    how much planted noise is missed by, from planting to planting      what a bootstrap would see
    how far the four readings lie apart                                 what depends on the way of reading
    a part of the model's own error rate, as it believes it to be       what no reading of these labels can tell

The last part is the larger the fewer rows of a class there are to learn from, for then the model errs where it is sure.
It reaches further down than up: errors that are taken for wrong labels are missing from those that it knows of.

The interval is never narrower than counting the wrong ones among so many rows would be. Labels of classes that the
model has not learnt count as anything from all right to all wrong.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.channel import LEAST, fit_channel, with_rate, without_chance
from labelnoise.auditing.counting import NORMAL, counting_error
from labelnoise.auditing.planted import plant_noise
from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.shortlist import Shortlist
from labelnoise.auditing.stream import Probs, taken
from labelnoise.auditing.transition import transition_interval

REPEATS = 10
ROUNDS = 8  # of refitting; it starts where the first fit ended
FEW = 10  # rows of a class, from which all of the model's own error may pass for wrong labels


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
    read = fit_channel(shortlist, labels, classes)
    found = without_chance(read)
    prior = before(shortlist, found)
    seen = after(prior, found.likelihood(shortlist, labels))
    readings = _readings(shortlist, labels, found)

    def missed(repeat: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        planted = plant_noise(shortlist, seen, found, seed, "planted-noise", repeat)
        held = shortlist.holding(planted.labels, taken(sources, rows, planted.labels))
        again = without_chance(fit_channel(held, planted.labels, classes, found, ROUNDS))
        return _readings(held, planted.labels, again) - (planted.labels != planted.true).mean(), again.T

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        errors, matrices = zip(*threads.map(missed, range(REPEATS)), strict=True)
    both = np.concatenate([readings, readings - np.mean(errors, 0)])
    rate = float(np.clip(both.mean(), 0, 1))
    drawing = rate * (1 - rate) * (1 / len(rows) - 1 / among)  # these rows instead of all
    varying = np.var(np.mean(errors, 1), ddof=1) * (1 + 1 / REPEATS) + drawing
    own_error = 1 - float(prior.max(1).mean())
    told, least = float(NORMAL * np.sqrt(varying) + np.ptp(both) / 2), counting_error(rate, among)
    below, above = (max(told + each, least) for each in untold(own_error, among / classes))
    channel = replace(found, T=with_rate(found.T, rate / readings[0]))
    T_low, T_high = transition_interval(
        channel.T,
        with_rate(read.T, rate / readings[0]),
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


def unknown_rate(rate: float, classes: int) -> Rate:
    """Where the model cannot tell classes apart: a guess, for which any share and any matrix are possible."""
    T = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return Rate(rate, (0.0, 1.0), Channel(T, np.ones(classes), np.zeros(classes)), np.zeros_like(T), np.ones_like(T))


def _readings(shortlist: Shortlist, labels: NDArray[np.int64], channel: Channel) -> NDArray[np.float64]:
    """The share of wrong labels by the channel, and by the posterior."""
    prior = before(shortlist, channel)
    by_channel = (prior * (1 - channel.T.diagonal())[shortlist.classes]).sum(1).mean()
    return np.array([by_channel, wrong(shortlist, after(prior, channel.likelihood(shortlist, labels)), labels).mean()])


def untold(own_error: float, rows: float) -> tuple[float, float]:
    """How far below and above the estimate the share may lie for the model's own error, given the rows of a class.

    A share of it passes for wrong labels, or as many wrong labels for it: d = share · (own_error ± d).
    """
    share = float(np.sqrt(FEW / max(rows, FEW)))
    return own_error * share / max(1 - share, LEAST), own_error * share / (1 + share)
