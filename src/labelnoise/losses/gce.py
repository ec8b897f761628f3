"""Generalised cross-entropy, between cross-entropy (q → 0) and mean absolute error (q = 1).

Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy labels, NeurIPS 2018.
Fidelity: without truncation, and in log space where public code clips p at 1e-7 and so stops learning below.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, log_softmax, picked


def gce(logits: Tensor, target: Tensor, q: float | Tensor) -> Tensor:
    """(1 - p_y^q) / q of each example, (B,)."""
    log_p = picked(log_softmax(logits), target)
    return -torch.expm1(q * log_p) / q


class GCELoss(Loss):
    """Generalised cross-entropy: the larger q, the less an example counts that the network finds unlikely.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([0])
    >>> round(GCELoss(q=0.7)(logits, target).item(), 4)
    0.222
    """

    def __init__(self, q: float = 0.7, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not 0 < q <= 1:
            raise InputError(f"q must be above 0 and at most 1, not {q}; for q = 0 use CELoss")
        self.q = q

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return gce(output, target, self.q)
