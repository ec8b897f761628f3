"""How suspicious each labelled row is: weights learnt from one planting of flips, and checked by another."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from labelnoise.auditing.combine import learn_weights, shift_to, with_margins
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.features import Judged, judge
from labelnoise.auditing.planted import plant_flips
from labelnoise.auditing.precision import precision_table
from labelnoise.auditing.rate import Rate
from labelnoise.auditing.scores import Scores

NO_FLIPS = {"flips": 0.0, "found": np.nan, "named": np.nan, "mean_probability": np.nan}


@dataclass(frozen=True)
class Case:
    """What is known of the labelled rows that can be judged when each of them is."""

    evidence: Evidence
    scores: Scores
    rate: Rate
    rows: NDArray[np.int64]  # positions of rows with a label of a class that is learnt
    some: NDArray[np.int64]  # those of them that are learnt from

    @cached_property
    def judged(self) -> Judged:
        """The rows with the labels they have."""
        return self.judge(self.rows, self.evidence.given[self.rows])

    def judge(self, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> Judged:
        """Rows as if they had these labels."""
        return judge(self.evidence, self.scores, self.rate.channel, rows, labels)


class Suspicion(NamedTuple):
    """What rows that can be judged come to."""

    probability: NDArray[np.float64]  # that the label is wrong
    precision: pd.DataFrame
    planted: Mapping[str, float]  # see `Audit`


class Flips(NamedTuple):
    """Planted flips as they are judged, and the classes that were true before."""

    judged: Judged
    true: NDArray[np.int64]


def suspect(case: Case, seed: int) -> Suspicion:
    """One calibrated probability per row, whose mean is the noise rate of these rows."""
    if not len(case.rows):
        none = np.empty(0)
        return Suspicion(none, precision_table(none, none, none, case.rate.rate, case.rate.interval), dict(NO_FLIPS))
    rate, judged = case.rate.rate, case.judged
    within = np.searchsorted(case.rows, case.some)
    weights = learn_weights(judged.features[within], _planted(case, seed, "to-learn").judged.features, rate)
    logits = weights.logits(judged.features)
    shift = shift_to(logits, rate)
    margins = case.evidence.margins
    final = logits if margins is None else with_margins(logits + shift, margins[case.rows])
    probability = expit(final + shift_to(final, rate))
    check = _planted(case, seed, "to-check")
    found = weights.logits(check.judged.features)
    table = precision_table(probability, logits, found, rate, case.rate.interval)
    return Suspicion(probability, table, _recovery(logits, found, shift, check, rate))


def others(judged: Judged) -> NDArray[np.float32]:
    """Posterior of the classes on the shortlist but the label's."""
    return np.where(judged.shortlist.classes == judged.labels[:, None], np.float32(0), judged.seen)


def _planted(case: Case, seed: int, purpose: str) -> Flips:
    within = np.searchsorted(case.rows, case.some)
    shortlist, seen = case.judged.shortlist.at(within), case.judged.seen[within]
    planted = plant_flips(shortlist, seen, case.rate.channel, seed, "planted-flips", purpose)
    return Flips(case.judge(case.some[planted.rows], planted.labels), planted.true)


def _recovery(
    logits: NDArray[np.float64], found: NDArray[np.float64], shift: float, check: Flips, rate: float
) -> dict[str, float]:
    """How planted flips fare among the user's labels."""
    flips = len(found)
    if not flips:
        return dict(NO_FLIPS)
    count = min(len(logits), max(1, round(rate * len(logits))))  # as many as are wrong
    bar = np.partition(logits, -count)[-count]
    likeliest = check.judged.shortlist.classes[np.arange(flips), others(check.judged).argmax(1)]
    return {
        "flips": float(flips),
        "found": float(np.mean(found >= bar)),
        "named": float(np.mean(likeliest == check.true)),
        "mean_probability": float(expit(found + shift).mean()),
    }
