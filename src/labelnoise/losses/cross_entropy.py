"""Cross-entropy, -log p_y: what all the other losses are measured against."""

import math

import torch
from torch import Tensor

from labelnoise.losses.base import Loss, log_softmax, picked


def cross_entropy(logits: Tensor, target: Tensor, eps: float = 0.0) -> Tensor:
    """-log(p_y + eps) of each example, (B,), for class indices (B,); the mean under soft labels (B, K).

    With eps = 1e-5, as in the authors' code of peer loss, no loss exceeds 11.52.
    """
    log_p = log_softmax(logits)
    soft = target.ndim == logits.ndim
    if not soft:
        log_p = picked(log_p, target)
    if eps > 0:
        log_p = torch.logaddexp(log_p, torch.full_like(log_p, math.log(eps)))
    return -(target * log_p).sum(-1) if soft else -log_p


class CELoss(Loss):
    """Cross-entropy on logits, with class indices or soft labels.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([0])
    >>> round(CELoss()(logits, target).item(), 4)
    0.2413
    """

    def __init__(self, eps: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.eps = eps

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return cross_entropy(output, target, self.eps)
