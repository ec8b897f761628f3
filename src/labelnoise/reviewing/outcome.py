"""What becomes of every row when decisions are applied."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.dataset import Dataset
from labelnoise.data.rows import counted
from labelnoise.errors import InputError
from labelnoise.reviewing.corrections import Decisions

DROP, RELABEL, WEIGHT = "drop", "relabel", "weight"


class Outcome(NamedTuple):
    """For every row of a data set whether it stays, its label and, where asked for, what it weighs."""

    kept: NDArray[np.bool_]  # (n,)
    labels: NDArray[np.int64]  # (n,) classes
    weights: NDArray[np.float64] | None = None  # (n,)


def outcome(dataset: Dataset, decisions: Decisions, mode: str) -> Outcome:
    """Labels decided to be wrong are dropped, corrected, or weigh nothing; undecided ones weigh 1 - P(wrong)."""
    given = dataset.y_given.numpy()
    labels, all_rows = given.copy(), np.ones(len(given), bool)
    decided = list(decisions.corrected)
    labels[decided] = list(decisions.corrected.values())
    if mode == RELABEL:
        return Outcome(all_rows, labels)
    if mode == DROP:
        return Outcome(labels == given, given)
    weights = np.full(len(given), np.nan)
    weights[list(decisions.wrong)] = 1 - np.array(list(decisions.wrong.values()))
    weights[decided] = labels[decided] == given[decided]
    if len(unknown := np.flatnonzero(np.isnan(weights))):
        raise InputError(
            f"mode {WEIGHT} needs the wrong_probability of every row, and {len(unknown):,} of {len(given):,} have none "
            f"in these files, such as {dataset.ids[unknown[0]]!r}; apply issues.csv of the audit as well"
        )
    return Outcome(all_rows, given, weights)


def changes(dataset: Dataset, done: Outcome, mode: str, decided: int) -> str:
    """A sentence on what was done, and on how many decisions."""
    told, of = counted(decided, "decision") if decided else "nothing is decided", f"of {len(dataset):,}"
    if done.weights is not None:
        return f"{told}: weights sum to {done.weights[done.kept].sum():,.1f}, {of} rows"
    if mode == DROP:
        return f"{told}: {(~done.kept).sum():,} {of} rows dropped"
    return f"{told}: {(done.labels != dataset.y_given.numpy())[done.kept].sum():,} {of} labels changed"
