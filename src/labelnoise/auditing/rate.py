"""The share of wrong labels, with an interval that holds the model's own error.

The share is read in two ways: from the channel, which comes from rows of which the model is sure, and from the
posterior of all rows. Both are read again from labels with noise planted by the channel, where the truth is known, and
corrected by what they miss there. The estimate is the mean of the four readings. The interval has three parts:

    how much planted noise is missed by, from planting to planting      what a bootstrap would see
    how far the four readings lie apart                                 what depends on the way of reading
    an eighth of the model's own error rate, as it believes it to be    what no reading of these labels can tell
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.channel import LEAST, fit_channel, with_rate
from labelnoise.auditing.planted import plant_noise
from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.shortlist import Shortlist
from labelnoise.auditing.stream import Probs, taken

REPEATS = 10
ROUNDS = 8  # of refitting; it starts where the first fit ended
NORMAL = 1.96  # 95 %
UNTOLD = 0.125  # of the model's own error; on every set that was measured the estimate was off by less


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
    found = fit_channel(shortlist, labels, classes)
    prior = before(shortlist, found)
    seen = after(prior, found.likelihood(shortlist, labels))
    readings = _readings(shortlist, labels, found)

    def missed(repeat: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        planted = plant_noise(shortlist, seen, found, seed, "planted-noise", repeat)
        held = shortlist.holding(planted.labels, taken(sources, rows, planted.labels))
        again = fit_channel(held, planted.labels, classes, found, ROUNDS)
        return _readings(held, planted.labels, again) - (planted.labels != planted.true).mean(), again.T

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        errors, matrices = zip(*threads.map(missed, range(REPEATS)), strict=True)
    both = np.concatenate([readings, readings - np.mean(errors, 0)])
    rate = float(np.clip(both.mean(), 0, 1))
    drawing = rate * (1 - rate) * (1 / len(rows) - 1 / among)  # these rows instead of all
    varying = np.var(np.mean(errors, 1), ddof=1) * (1 + 1 / REPEATS) + drawing
    own_error = 1 - prior.max(1).mean()
    half = float(NORMAL * np.sqrt(varying) + np.ptp(both) / 2 + UNTOLD * own_error)
    channel = Channel(with_rate(found.T, rate / readings[0]), found.scale, found.shift)
    wide = NORMAL * _spread(matrices) + _errors(channel.T) * half / max(rate, LEAST)
    low = np.where(_even(channel.T) > channel.T, 0, channel.T - wide)  # fewer errors than even ones may be none
    interval = max(0.0, rate - half), min(1.0, rate + half)
    return Rate(rate, interval, channel, np.clip(low, 0, 1), np.clip(channel.T + wide, 0, 1))


def _readings(shortlist: Shortlist, labels: NDArray[np.int64], channel: Channel) -> NDArray[np.float64]:
    """The share of wrong labels by the channel, and by the posterior."""
    prior = before(shortlist, channel)
    by_channel = (prior * (1 - channel.T.diagonal())[shortlist.classes]).sum(1).mean()
    return np.array([by_channel, wrong(shortlist, after(prior, channel.likelihood(shortlist, labels)), labels).mean()])


def _spread(matrices: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Standard deviation of every entry."""
    middle = sum(matrices[1:], matrices[0]) / len(matrices)
    squares = sum(((each - middle) ** 2 for each in matrices), np.zeros_like(middle))
    return np.sqrt(squares / (len(matrices) - 1))


def _errors(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of each entry of T comes from errors: all of it, and on the diagonal what they take from it."""
    return np.where(np.eye(len(T), dtype=bool), 1 - T, T)


def _even(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each true class the share of a wrong label if all were alike, as a column."""
    return ((1 - T.diagonal()) / (len(T) - 1))[:, None]
