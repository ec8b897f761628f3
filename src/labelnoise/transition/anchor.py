"""T from anchor points: the row of a class is the noisy posterior of the example most surely of that class.

Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017.
Fidelity: public code drops outliers by zeroing them in place, which corrupts rows read later; here nothing is changed.
"""

import math

import torch
from torch import Tensor

from labelnoise.errors import InputError

Quantile = float | str | None  # a string: "auto"

FEW_CLASSES = 20  # with more, the examples of one class are hardly 3 % of the data, and none would be left
USUAL_QUANTILE = 0.97


def estimate_anchor(probs: Tensor, labels: Tensor | None = None, *, quantile: Quantile = "auto") -> Tensor:
    """T (K, K) in the dtype of the noisy posteriors `probs` (N, K); `labels` are not needed.

    Outliers, with a probability of the class at or above this quantile of its column, cannot be anchors; None admits
    all, "auto" is 0.97 for up to 20 classes and None for more.
    """
    _check(probs)
    if quantile == "auto":
        quantile = USUAL_QUANTILE if probs.shape[1] <= FEW_CLASSES else None
    if isinstance(quantile, str) or not (quantile is None or 0 < quantile <= 1):
        raise InputError(f"quantile must be above 0 and at most 1, 'auto' or None, not {quantile!r}")
    anchors = probs.argmax(0) if quantile is None else _below(probs, quantile)
    rows = probs[anchors]
    return rows / rows.sum(1, keepdim=True)


def _below(probs: Tensor, quantile: float) -> Tensor:
    """Per class the largest entry under the quantile, taken as the next higher order statistic; (K,) positions."""
    place = math.ceil(quantile * (len(probs) - 1) - 1e-9)  # 1e-9 repairs products such as 0.07 * 100 = 7.000…1
    outlier = probs >= probs.kthvalue(place + 1, dim=0).values
    rest = probs.masked_fill(outlier, -torch.inf)
    return torch.where(outlier.all(0), probs.argmax(0), rest.argmax(0))  # a constant column has no rest


def _check(probs: Tensor) -> None:
    if probs.ndim != 2 or probs.shape[1] < 2:
        raise InputError(f"probs must be of shape (examples, classes), not {tuple(probs.shape)}")
    if len(probs) < probs.shape[1]:
        raise InputError(f"{len(probs)} examples cannot hold anchors for {probs.shape[1]} classes; give more examples")
    wrong = ~((probs >= 0).all(1) & (probs.sum(1) > 0) & probs.isfinite().all(1))  # NaN is not at least 0
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise InputError(f"row {row} of probs holds no probabilities; give softmax outputs without NaN")
