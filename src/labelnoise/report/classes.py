"""Each class of the test part by itself: how many rows it has, and what share of them every method finds."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labelnoise.metrics import balanced_accuracy, macro_f1, recall
from labelnoise.report.summary import Row
from labelnoise.report.tables import spread
from labelnoise.report.uneven import confusions

MOST_COUNTED = 20  # classes up to which all are shown
OVERALL = {"balanced accuracy": balanced_accuracy, "macro F1": macro_f1}


def class_counts(names: Sequence[str], rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Rows of each class in the test part of the first run, where classes are not too many."""
    tested = next((counts for row in rows for counts in confusions(row.finished)), None)
    if tested is None or len(names) > MOST_COUNTED:
        return []
    return [(name, int(number)) for name, number in zip(names, tested.sum(1), strict=True)]


def by_class(best: Row | None, rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any] | None:
    """Cells of a table of recalls, a line for each class, below means over classes; a column for each method.

    Of many classes those are shown that the best method finds least.
    """
    counted = [(row, torch.stack(found)) for row in rows if (found := confusions(row.finished))]
    judge = next((counts for row, counts in counted if row is best), None)
    if judge is None:
        return None
    shown, sizes = list(range(len(names))), judge.sum((0, 2)) / len(judge)
    if few := len(names) > MOST_COUNTED:
        least = recall(judge).nanmean(0).argsort(stable=True).tolist()
        shown = [k for k in least if sizes[k] > 0][:MOST_COUNTED]
    found = [recall(counts) for _, counts in counted]  # (runs, K) each
    return {
        "methods": [row.label for row, _ in counted],
        "overall": {name: [_cell(measure(counts)) for _, counts in counted] for name, measure in OVERALL.items()},
        "classes": [(names[k], f"{sizes[k]:.0f}", [_cell(each[:, k]) for each in found]) for k in shown],
        "few": few,
    }


def _cell(values: Tensor) -> str:
    # of the runs whose test part has such rows
    return spread(values[~values.isnan()].tolist())
