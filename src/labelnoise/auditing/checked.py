"""Evidence that is complete and fits together, or one sentence on what does not."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelnoise.auditing.evidence import Evidence
from labelnoise.errors import InputError


def check_evidence(evidence: Evidence) -> None:
    """Shapes, classes and labels; the probabilities themselves are checked where they are read."""
    given, probs = evidence.given, evidence.probs
    if probs.ndim != 2 or not np.issubdtype(probs.dtype, np.floating):
        raise InputError(f"probs must be numbers of shape (rows, classes), not {probs.dtype} of shape {probs.shape}")
    if probs.shape[1] < 2:
        raise InputError("there is one class only, so no label can be wrong; give the names of all classes")
    if len(evidence.classes) != probs.shape[1]:
        raise InputError(f"probs has {probs.shape[1]} columns for {len(evidence.classes)} classes; give one for each")
    if given.shape != (len(probs),):
        raise InputError(f"probs has {len(probs)} rows but there are {len(given)} labels; give one label for each row")
    outside = np.flatnonzero((given < -1) | (given >= probs.shape[1]))
    if len(outside):
        row = int(outside[0])
        raise InputError(f"row {row} has label {given[row]}, but the classes are 0 to {probs.shape[1] - 1}")
    if not (given >= 0).any():
        raise InputError("no row has a label, so there is nothing to audit; give labels")
    _check_further(evidence)


def checked_ids(ids: Sequence[object] | NDArray[np.generic] | None, rows: int) -> pd.Index:
    """Names of the rows, each its own; their numbers by default."""
    index = pd.RangeIndex(rows, name="id") if ids is None else pd.Index(ids, name="id", tupleize_cols=False)
    if len(index) != rows:
        raise InputError(f"there are {len(index)} ids for {rows} rows; give one for each row")
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        first, second = [row for row, name in enumerate(index) if name == twice][:2]
        raise InputError(f"rows {first} and {second} have the same id {index[first]!r}; give every row one of its own")
    return index


def _check_further(evidence: Evidence) -> None:
    shape = evidence.probs.shape
    if evidence.margins is not None and evidence.margins.shape != shape[:1]:
        raise InputError(f"margins must be {shape[0]} numbers, one for each row, not of shape {evidence.margins.shape}")
    tables = [*evidence.others, *([] if evidence.neighbours is None else [evidence.neighbours])]
    for table in tables:
        if table.shape != shape:
            raise InputError(f"others and neighbours must have the shape of probs, {shape}, not {table.shape}")
