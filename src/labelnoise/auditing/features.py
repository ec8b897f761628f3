"""What is known of rows with certain labels, the given or planted ones, as numbers that `combine` weighs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.scores import Scores
from labelnoise.auditing.shortlist import Shortlist, floored
from labelnoise.auditing.stream import taken

SMALL = 1e-9
FEW = 0.02  # the share of neighbours that a class has at least


@dataclass(frozen=True)
class Judged:
    """Some rows with labels, and the posterior of their true classes."""

    labels: NDArray[np.int64]  # (r,)
    shortlist: Shortlist  # of r rows; it holds the labels
    seen: NDArray[np.float32]  # (r, m) probabilities of the shortlist's classes
    features: NDArray[np.float64]  # (r, d)


def judge(
    evidence: Evidence, scores: Scores, channel: Channel, rows: NDArray[np.int64], labels: NDArray[np.int64]
) -> Judged:
    """Rows at these positions as if they had these labels."""
    own = taken((evidence.probs, *evidence.others), rows, labels)
    shortlist = scores.shortlist.at(rows).holding(labels, own)
    prior = before(shortlist, channel)
    seen = after(prior, channel.likelihood(shortlist, labels))
    columns = [
        _logit(wrong(shortlist, seen, labels)),  # 1 - r[label]
        np.log(floored(own)),
        np.log(floored(shortlist.best_but(labels))),
        scores.entropy[rows],
        _logit(wrong(shortlist, prior, labels)),  # 1 - η[label]
    ]
    if evidence.neighbours is not None:
        columns.append(np.log(np.maximum(evidence.neighbours[rows, labels], FEW)))
    return Judged(labels, shortlist, seen, np.column_stack(columns).astype(np.float64))


def _logit(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(probability, SMALL, 1 - SMALL)
    return np.log(inside) - np.log1p(-inside)
