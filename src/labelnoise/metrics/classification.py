"""Metrics of predictions (..., N, K) against labels (..., N): float64 tensors (...), without waiting for the device."""

from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.types import Array


class Selection(NamedTuple):
    """How well a set of suspects matches the wrong labels; NaN where nothing is selected, or nothing is wrong."""

    precision: Tensor  # share of the selected that are wrong
    recall: Tensor  # share of the wrong that are selected


def accuracy(log_probs: Array, y: Array) -> Tensor:
    """Share of rows whose most probable class is y."""
    predicted = torch.as_tensor(log_probs).argmax(-1)
    return (predicted == _labels(y, predicted)).double().mean(-1)


def nll(log_probs: Array, y: Array) -> Tensor:
    """Mean negative log-probability of y."""
    log_probs = torch.as_tensor(log_probs).double()
    labels = _labels(y, log_probs[..., 0])
    return -log_probs.gather(-1, labels[..., None])[..., 0].mean(-1)


def ece(probs: Array, y: Array, bins: int = 15) -> Tensor:
    """Expected calibration error: sum over bins of |B| / N · |accuracy(B) - confidence(B)|.

    The bins of the top probability are (lo, hi] of equal width (Guo et al. 2017).
    """
    confidence, predicted = torch.as_tensor(probs).double().max(-1)
    excess = (predicted == _labels(y, predicted)).double() - confidence
    edges = torch.arange(1, bins, dtype=torch.float64, device=confidence.device) / bins
    gaps = confidence.new_zeros(*confidence.shape[:-1], bins)
    gaps = gaps.scatter_add(-1, torch.bucketize(confidence, edges), excess)
    return gaps.abs().sum(-1) / confidence.shape[-1]


def binned_ece(bins: Array, into: int | None = None) -> Tensor:
    """The same error from the rows, summed confidence and hits of each bin, (..., bins, 3).

    With `into`, a divisor of their number, bins are first merged into so many: of 300 bins one has the error with 15,
    which is usual, and with 100.
    """
    each = torch.as_tensor(bins).double()
    if into is not None:
        each = each.reshape(*each.shape[:-2], into, -1, 3).sum(-2)
    rows, confidence, hits = each.unbind(-1)
    return (hits - confidence).abs().sum(-1) / rows.sum(-1)


def selection_precision_recall(selected: Array, wrong: Array) -> Selection:
    """Precision and recall of rows suspected of a wrong label; both arguments are boolean, (..., N)."""
    selected, wrong = torch.as_tensor(selected).double(), torch.as_tensor(wrong).double()
    both = (selected * wrong).sum(-1)
    return Selection(both / selected.sum(-1), both / wrong.sum(-1))


def _labels(y: Array, like: Tensor) -> Tensor:
    # labels that all runs share lack the run axis; any other misfit raises
    return torch.as_tensor(y).long().expand_as(like)
