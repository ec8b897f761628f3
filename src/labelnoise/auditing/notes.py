"""What a person should know before believing an audit, in sentences."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.counting import counting_error
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.scores import Scores
from labelnoise.data.rows import counted

FEW_ROWS = 100  # fewer say little
FEW_LEARNT = 150  # rows of a class: networks that have learnt from fewer err where they are sure
CONTRADICTED = 0.1  # of the labels, by such networks: more may well be their own errors
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
        *(_on_agreeing(evidence) if agreement == 1 else _on_learning(evidence, rows, learnt)),
        *(_on_few(rows, agreement) if learnt.any() and not evidence.own else ()),
        *_on_doubt(top),
        *(_on_sureness(top, agreement, rate) if learnt.any() else ()),
    )


def _on_rows(evidence: Evidence, rows: NDArray[np.int64]) -> Iterator[str]:
    if (count := int(rows.sum())) < FEW_ROWS:
        yield f"{counted(count, 'labelled row')} {'is' if count == 1 else 'are'} few: take every number with care"
    if len(missing := np.flatnonzero(rows == 0)):
        yield f"no row is given {named(evidence.classes, missing)}"
    if unlabelled := int((evidence.given < 0).sum()):
        have, they = ("has", "it counts") if unlabelled == 1 else ("have", "they count")
        yield f"{counted(unlabelled, 'row')} {have} no label; a label is suggested, and {they} nowhere else"


def _on_learning(evidence: Evidence, rows: NDArray[np.int64], learnt: NDArray[np.bool_]) -> Iterator[str]:
    if not learnt.any():
        own = "; see that the columns of your probabilities are in the order of the classes" if evidence.own else ""
        yield (
            "the model cannot tell the classes apart, so that no label can be judged: what it says against them is "
            f"half believed{own}"
        )
    elif len(unknown := np.flatnonzero(~learnt)):
        labels = f"{(count := rows[unknown].sum()):,} {'label' if count == 1 else 'labels'}"
        yield (
            f"the model has not learnt {named(evidence.classes, unknown)}, so that {labels} cannot be judged: what it "
            "says against them is half believed, and the interval of the noise rate takes all of them for right, and "
            "all for wrong"
        )


def _on_agreeing(evidence: Evidence) -> Iterator[str]:
    own = "; if it has learnt from these rows, give probabilities of models that have not" if evidence.own else ""
    yield f"the model agrees with every label, and finds no wrong one{own}"


def _on_few(rows: NDArray[np.int64], agreement: float) -> Iterator[str]:
    each = rows.sum() / len(rows)
    if each < FEW_LEARNT and rows.sum() >= FEW_ROWS and 1 - agreement > CONTRADICTED:
        yield (
            f"networks that had {each:.0f} rows of a class to learn from, on average, contradict "
            f"{100 * (1 - agreement):.0f} % of the labels, and some of that is their own error: the noise rate may be "
            "too high, so look at rows before any are dropped, or give better inputs, such as vectors of a large model"
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


def named(classes: Sequence[str], some: NDArray[np.int64]) -> str:
    """Some classes in words, of many the first."""
    return f"{', '.join(classes[each] for each in some[:NAMED])}{' and others' if len(some) > NAMED else ''}"
