"""Labels of classes that the model has not learnt: half of what it says against them is believed.

Where model and label differ, one of the two is wrong, and nothing tells which. So no such label is likelier wrong than
right, and still those that the model contradicts most come first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.scores import Scores


class Unjudged(NamedTuple):
    """Rows whose class is not learnt, and what is believed of them."""

    rows: NDArray[np.int64]  # (u,) their positions
    probability: NDArray[np.float64]  # (u,) that the label is wrong
    classes: NDArray[np.int32]  # (u, m) that may be true
    share: NDArray[np.float64]  # (u, m) how likely each of them is if the label is wrong


def half_believed(scores: Scores, given: NDArray[np.int64], rows: NDArray[np.int64]) -> Unjudged:
    """½ (1 - p[given]), which is of other classes as the model says."""
    labels, shortlist = given[rows], scores.shortlist.at(rows)
    against = np.maximum(1 - scores.own[rows].astype(np.float64), 0)  # rounded probabilities may exceed 1
    others = np.where(shortlist.classes == labels[:, None], 0, shortlist.probs.astype(np.float64))
    share = others / np.maximum(others.sum(1, keepdims=True), 1e-30)
    return Unjudged(rows, against / 2, shortlist.classes, share)
