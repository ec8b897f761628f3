"""How well single classes are found, from confusion matrices (..., K, K), label by prediction: float64 tensors.

`pair_counts(predicted, y, K).mT` is such a matrix.
"""

import torch
from torch import Tensor

from labelnoise.metrics.matrix import shares
from labelnoise.types import Array


def recall(confusion: Array) -> Tensor:
    """Of the rows of each class the share that is predicted so, (..., K); NaN of a class without rows."""
    return shares(confusion).diagonal(dim1=-2, dim2=-1)


def balanced_accuracy(confusion: Array) -> Tensor:
    """Mean recall over the classes that have rows: each counts alike, whatever its size."""
    return recall(confusion).nanmean(-1)


def macro_f1(confusion: Array) -> Tensor:
    """Mean over classes of F1 = 2 hits / (rows + predictions); a class that has neither is left out."""
    counts = torch.as_tensor(confusion).double()
    hits = counts.diagonal(dim1=-2, dim2=-1)
    return (2 * hits / (counts.sum(-1) + counts.sum(-2))).nanmean(-1)
