"""What a person should know before believing an audit, in sentences."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.counting import counting_error
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.scores import Scores

FEW_ROWS = 100  # fewer say little
NAMED = 5  # classes, at most
SURER = 0.02  # by more than this, and chance, no good model that was measured was surer than labels explain


def notes(
    evidence: Evidence, scores: Scores, rows: NDArray[np.int64], learnt: NDArray[np.bool_], rate: float
) -> tuple[str, ...]:
    """On rows of each given class (K,), on classes that are not learnt, and on the probabilities themselves."""
    labelled = evidence.given >= 0
    agreement = float(np.mean(scores.shortlist.classes[labelled, 0] == evidence.given[labelled]))
    top = scores.shortlist.probs[labelled, 0]
    return (
        *_on_rows(evidence, rows),
        *(_on_agreeing() if agreement == 1 else _on_learning(evidence.classes, rows, learnt)),
        *_on_doubt(top),
        *(_on_sureness(top, agreement, rate) if learnt.any() else ()),
    )


def _on_rows(evidence: Evidence, rows: NDArray[np.int64]) -> Iterator[str]:
    if rows.sum() < FEW_ROWS:
        yield f"{rows.sum()} labelled rows are few: take every number with care"
    if len(missing := np.flatnonzero(rows == 0)):
        yield f"no row is given {_named(evidence.classes, missing)}"
    if unlabelled := int((evidence.given < 0).sum()):
        yield f"{unlabelled} rows have no label; a label is suggested, and they count nowhere else"


def _on_learning(classes: tuple[str, ...], rows: NDArray[np.int64], learnt: NDArray[np.bool_]) -> Iterator[str]:
    if not learnt.any():
        yield (
            "the model cannot tell the classes apart, so that no label can be judged: what it says against them is "
            "half believed; if the probabilities are your own, see that their columns are in the order of the classes"
        )
    elif len(unknown := np.flatnonzero(~learnt)):
        yield (
            f"the model has not learnt {_named(classes, unknown)}, so that {rows[unknown].sum():,} labels cannot be "
            "judged: what it says against them is half believed, and the interval of the noise rate takes all of them "
            "for right, and all for wrong"
        )


def _on_agreeing() -> Iterator[str]:
    yield (
        "the model agrees with every label; if it has learnt from these rows, it finds no wrong one: "
        "give probabilities of models that have not"
    )


def _on_doubt(top: NDArray[np.float32]) -> Iterator[str]:
    if (top >= 1).all():
        yield "all probabilities are 0 or 1 and tell nothing of the model's doubt: the intervals may be too narrow"


def _on_sureness(top: NDArray[np.float32], agreement: float, rate: float) -> Iterator[str]:
    sure = float(top.mean(dtype=np.float64))
    if sure - agreement - rate > SURER + counting_error(agreement, len(top)):
        yield (
            f"the model is {100 * sure:.0f} % sure on average but agrees with {100 * agreement:.0f} % of the labels, "
            "fewer than wrong labels explain: it is overconfident, so that its own errors pass for wrong labels and "
            "the interval of the noise rate may miss; calibrate it, or take a better one"
        )


def _named(classes: Sequence[str], some: NDArray[np.int64]) -> str:
    return f"{', '.join(classes[each] for each in some[:NAMED])}{' and others' if len(some) > NAMED else ''}"
