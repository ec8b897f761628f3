"""How good predictions, selections and estimated matrices are: functions on tensors or arrays.

The functions `breakdown`, `fitness`, `margins` and `separator` are named like their files and imported from there: a
name means one thing.
"""

from labelnoise.metrics.breakdown import Breakdown
from labelnoise.metrics.classification import Selection, accuracy, binned_ece, ece, nll, selection_precision_recall
from labelnoise.metrics.fitness import divergence_values, pair_counts
from labelnoise.metrics.margins import margin_counts
from labelnoise.metrics.matrix import MatrixError, matrix_error, shares
from labelnoise.metrics.per_class import balanced_accuracy, macro_f1, recall
from labelnoise.metrics.projection import project
from labelnoise.metrics.separator import Separator

__all__ = [
    "Breakdown",
    "MatrixError",
    "Selection",
    "Separator",
    "accuracy",
    "balanced_accuracy",
    "binned_ece",
    "divergence_values",
    "ece",
    "macro_f1",
    "margin_counts",
    "matrix_error",
    "nll",
    "pair_counts",
    "project",
    "recall",
    "selection_precision_recall",
    "shares",
]
