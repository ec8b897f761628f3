"""Generalised cross-entropy, between cross-entropy (q → 0) and mean absolute error (q = 1).

Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy labels, NeurIPS 2018.
Fidelity: in log space, where public code clips p at 1e-7 and so stops learning below; truncation is an option, as the
paper defines it, example by example.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, log_softmax, picked


def gce(logits: Tensor, target: Tensor, q: float | Tensor) -> Tensor:
    """(1 - p_y^q) / q of each example, (B,)."""
    log_p = picked(log_softmax(logits), target)
    return -torch.expm1(q * log_p) / q


def truncated_gce(logits: Tensor, target: Tensor, q: float | Tensor, k: float | Tensor) -> Tensor:
    """The same, but (1 - k^q) / q where p_y ≤ k, (B,): an example that unlikely has no gradient."""
    log_p = picked(log_softmax(logits), target)
    return -torch.expm1(q * torch.maximum(log_p, (torch.zeros_like(log_p) + k).log())) / q


class GCELoss(Loss):
    """Generalised cross-entropy: the larger q, the less an example counts that the network finds unlikely.

    With `truncation` an example counts only while its label has more than that probability, so begin without it.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([0])
    >>> round(GCELoss(q=0.7)(logits, target).item(), 4)
    0.222
    """

    def __init__(self, q: float = 0.7, reduction: str = "mean", *, truncation: float | None = None) -> None:
        super().__init__(reduction)
        check_q(q)
        if truncation is not None and not 0 < truncation < 1:
            raise InputError(f"truncation must lie between 0 and 1, or be None, not {truncation}")
        self.q, self.truncation = q, truncation

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        if self.truncation is None:
            return gce(output, target, self.q)
        return truncated_gce(output, target, self.q, self.truncation)


def check_q(q: float | Tensor) -> None:
    """Refuse what makes no loss; inside a pack q is a tensor, and was looked at before."""
    if not isinstance(q, Tensor) and not 0 < q <= 1:
        raise InputError(f"q must be above 0 and at most 1, not {q}; q = 0 would be cross-entropy")
