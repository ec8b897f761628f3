"""From evidence to an audit: scores, noise rate and channel, planted flips, one probability per row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelnoise.auditing.checked import check_evidence, checked_ids
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.learnt import learnt_classes, learnt_little
from labelnoise.auditing.notes import notes
from labelnoise.auditing.per_class import class_table
from labelnoise.auditing.rate import estimate_rate, fewness, unknown_rate, with_anything, with_unjudged
from labelnoise.auditing.reasons import reasons
from labelnoise.auditing.result import LIKELY, Audit
from labelnoise.auditing.scores import score
from labelnoise.auditing.suspicion import Case, Suspicion, others, suspect
from labelnoise.auditing.unjudged import Unjudged, half_believed
from labelnoise.rng import Rng

MOST_ROWS = 12_000  # channel, rate and weights are learnt from no more


def examine(evidence: Evidence, *, ids: Sequence[object] | NDArray[Any] | None = None, seed: int = 0) -> Audit:
    """Audit labels by what models that did not learn from a row say about it."""
    check_evidence(evidence)
    index = checked_ids(ids, len(evidence.given))
    sources = (evidence.probs, *evidence.others)
    scores = score(sources, evidence.given)
    labelled = np.flatnonzero(evidence.given >= 0)
    best, given = scores.shortlist.classes[labelled, 0], evidence.given[labelled]
    learnt = learnt_classes(best, given, len(evidence.classes))
    rows, rest = labelled[learnt[given]], half_believed(scores, evidence.given, labelled[~learnt[given]])
    some = _some(rows, seed)
    if len(rows):
        labels = evidence.given[some]
        shortlist = scores.shortlist.at(some).holding(labels, scores.own[some])
        rate = estimate_rate(sources, some, shortlist, labels, among=len(rows), seed=seed)
        if fewness(len(rows) / len(evidence.classes)) and learnt_little(best, given, len(evidence.classes)):
            rate = with_anything(rate)
    else:
        rate = unknown_rate(float(rest.probability.mean()), len(evidence.classes))
    case = Case(evidence, scores, rate, rows, some)
    return _audit(case, suspect(case, seed), rest, learnt, index)


def _some(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(rows[Rng(seed, "audit-rows").permutation(len(rows))[:MOST_ROWS].numpy()])


def _audit(case: Case, suspicion: Suspicion, rest: Unjudged, learnt: NDArray[np.bool_], index: pd.Index) -> Audit:
    evidence, classes = case.evidence, case.evidence.classes
    count = np.bincount(evidence.given[evidence.given >= 0], minlength=len(classes))
    posterior = others(case.judged)
    share = posterior / np.maximum(posterior.sum(1, keepdims=True), np.float32(1e-30))
    meant, labels = case.judged.shortlist.classes, case.judged.labels
    flips = _pairs(meant, labels, share * suspicion.probability[:, None], len(classes))
    flips += _pairs(rest.classes, evidence.given[rest.rows], rest.share * rest.probability[:, None], len(classes))
    rate = with_unjudged(case.rate, count, learnt, rest.probability.sum()) if learnt.any() else case.rate
    probability = np.full(len(evidence.given), np.nan)
    probability[case.rows], probability[rest.rows] = suspicion.probability, rest.probability
    return Audit(
        issues=_issues(case, probability, share, learnt, index),
        noise_rate=rate.rate,
        noise_rate_interval=rate.interval,
        transition=_matrix(rate.channel.T, classes),
        transition_interval=(_matrix(rate.T_low, classes), _matrix(rate.T_high, classes)),
        per_class=class_table(classes, count, flips, learnt),
        precision=suspicion.precision,
        planted=suspicion.planted,
        notes=notes(evidence, case.scores, count, learnt, rate.rate),
    )


def _issues(
    case: Case,
    probability: NDArray[np.float64],
    share: NDArray[np.float32],
    learnt: NDArray[np.bool_],
    index: pd.Index,
) -> pd.DataFrame:
    """A line per row; `share` says how likely each class on the shortlist of a judged one is if its label is wrong."""
    given, rows = case.evidence.given, case.rows
    top = case.scores.shortlist.classes[:, :2].astype(np.int64)
    meant = np.where(top[:, 0] == given, top[:, 1], top[:, 0])
    meant[rows] = case.judged.shortlist.classes[np.arange(len(rows)), share.argmax(1)]
    changed = (given < 0) | (probability > LIKELY)
    names = np.array([*case.evidence.classes, None], dtype=object)  # the last for rows without a label
    columns = {
        "given": names[given],
        "suggested": names[np.where(changed, meant, given)],
        "wrong_probability": probability,
        "reason": reasons(case.evidence, case.scores, case.rate.channel, probability, meant, learnt=learnt),
        "alternative": names[meant],
        **case.scores.columns(given),
        **_further(case.evidence),
    }
    return pd.DataFrame(columns, index=index)


def _pairs(
    meant: NDArray[np.int32], labels: NDArray[np.int64], weights: NDArray[np.float64], classes: int
) -> NDArray[np.float64]:
    """Expected wrong rows, (K true, K given), from the weights of classes that are meant, (r, m), by rows."""
    pairs = meant.astype(np.int64) * classes + labels[:, None]
    counts = np.bincount(pairs.ravel(), weights.ravel(), classes**2).astype(np.float64)
    return counts.reshape(classes, classes)


def _further(evidence: Evidence) -> Mapping[str, NDArray[Any]]:
    """Scores that come from more than probabilities."""
    found: dict[str, NDArray[Any]] = {}
    without = evidence.given < 0
    if evidence.margins is not None:
        found["training_margin"] = evidence.margins
    if evidence.others:
        agreeing = [np.argmax(each, 1) == evidence.given for each in (evidence.probs, *evidence.others)]
        found["agreement"] = np.where(without, np.nan, np.mean(agreeing, 0))
    if evidence.neighbours is not None:
        own = evidence.neighbours[np.arange(len(without)), evidence.given]
        found["neighbours"] = np.where(without, np.nan, own)
    return found


def _matrix(values: NDArray[np.float64], classes: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(values, index=pd.Index(classes, name="true"), columns=pd.Index(classes, name="given"))
