"""Why a row is suspicious, as a person would say it."""

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.scores import Scores

WORTH = 0.1  # rows that are less likely wrong need no reason
OFTEN = 2.0  # times as many errors between two classes as even ones would be
NOTHING = "nothing speaks against it"
UNLABELLED = "it has no label"
NOT_LEARNT = "the model has not learnt this class, so that its labels cannot be judged"


def reasons(
    evidence: Evidence,
    scores: Scores,
    channel: Channel,
    probability: NDArray[np.float64],
    meant: NDArray[np.int64],
    *,
    learnt: NDArray[np.bool_],
) -> NDArray[np.object_]:
    """A sentence for every row; `meant` is the likeliest class other than the given one; (K,) classes are learnt."""
    said = np.full(len(probability), NOTHING, dtype=object)
    judged = learnt[evidence.given]
    said[~judged] = NOT_LEARNT
    said[evidence.given < 0] = UNLABELLED
    often, beliefs = _often(channel.T), _beliefs(scores, meant)
    for row in np.flatnonzero(judged & (probability >= WORTH)).tolist():
        given, other = int(evidence.given[row]), int(meant[row])
        parts = [_model(evidence.classes[given], evidence.classes[other], *beliefs[row])]
        if often[other, given]:
            parts.append(f"{evidence.classes[other]} is often labelled {evidence.classes[given]}")
        if evidence.neighbours is not None and evidence.neighbours[row, given] < evidence.neighbours[row, other]:
            parts.append(
                f"{100 * evidence.neighbours[row, other]:.0f} % of its neighbours are {evidence.classes[other]}"
            )
        if evidence.margins is not None and evidence.margins[row] < 0:
            parts.append("in training the label was against what the model learnt")
        if scores.confident[row] == other:
            parts.append(f"the model is confident of {evidence.classes[other]}")
        said[row] = "; ".join(parts)
    return said


def _beliefs(scores: Scores, meant: NDArray[np.int64]) -> list[tuple[float, float]]:
    """Of each row the model's probabilities of the given and of the other class."""
    value = np.where(scores.shortlist.classes == meant[:, None], scores.shortlist.probs, 0).sum(1)
    return list(zip(scores.own.tolist(), value.tolist(), strict=True))


def _model(given: str, other: str, own: float, value: float) -> str:
    if value > own:
        return f"the model says {other} ({100 * value:.0f} %), not {given} ({100 * own:.0f} %)"
    return f"the model says {given} ({100 * own:.0f} %) or {other} ({100 * value:.0f} %)"


def _often(T: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pairs (true, given) that are mixed up clearly more often than even errors would be."""
    rate = 1 - T.diagonal()
    often: NDArray[np.bool_] = T * (len(T) - 1) > OFTEN * rate[:, None]
    return often
