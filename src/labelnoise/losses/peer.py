"""Peer loss: cross-entropy less that of labels which belong to other examples.

Liu and Guo, Peer loss functions: learning from noisy labels without knowing noise rates, ICML 2020.
Fidelity: 1e-5 inside the logarithm as in the authors' code, which bounds the subtracted term.
"""

from math import isfinite

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, neighbours
from labelnoise.losses.cross_entropy import cross_entropy

EPS = 1e-5


def peer_loss(logits: Tensor, target: Tensor, other: Tensor, alpha: float | Tensor = 1.0, eps: float = EPS) -> Tensor:
    """-log(p_y + eps) + α log(p_y' + eps) of each example, (B,), where y' of `other` is an independent label."""
    return cross_entropy(logits, target, eps) - alpha * cross_entropy(logits, other, eps)


class PeerLoss(Loss):
    """Agreement with the label counts as far as it exceeds that with a stranger's; for shuffled batches.

    >>> import torch
    >>> logits, target = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]]), torch.tensor([0, 2])
    >>> round(PeerLoss(alpha=1.0)(logits, target).item(), 4)
    -1.7499
    """

    def __init__(self, alpha: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not isfinite(alpha):
            raise InputError(f"alpha must be a number, not {alpha}")
        self.alpha = alpha

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K) of a shuffled batch."""
        return peer_loss(output, target, neighbours(target), self.alpha)
