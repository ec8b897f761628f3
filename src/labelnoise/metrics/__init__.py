"""How good predictions, selections and estimated matrices are: functions on tensors or arrays."""

from labelnoise.metrics.classification import Selection, accuracy, binned_ece, ece, nll, selection_precision_recall
from labelnoise.metrics.matrix import MatrixError, matrix_error, shares

__all__ = [
    "MatrixError",
    "Selection",
    "accuracy",
    "binned_ece",
    "ece",
    "matrix_error",
    "nll",
    "selection_precision_recall",
    "shares",
]
