"""Determinant-based mutual information, -log |det U| of the joint counts U of labels and predictions.

Xu, Cao, Kong and Wang, L_DMI: a novel information-theoretic loss function for training deep nets robust to label noise,
NeurIPS 2019. Fidelity: U is not divided by the batch size, as in the authors' code; where that adds 0.001 to the
determinant, a batch without information, such as one that lacks a class, has loss 0 and no gradient.
"""

import torch
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.losses.base import widened


def dmi(logits: Tensor, target: Tensor, classes: int) -> Tensor:
    """-log |det Σ_n y_n p_nᵀ| of a batch, a scalar, with the labels y_n one-hot or soft; 0 where it is singular."""
    probs = logits.double().softmax(-1)  # the determinant of near-uniform predictions is far below float32
    identity = torch.eye(classes, dtype=probs.dtype, device=probs.device)
    labels = identity[target] if target.ndim < logits.ndim else target.to(probs.dtype)
    joint = labels.mT @ probs  # (K, K)
    pivots = torch.linalg.lu_factor_ex(joint.detach()).LU.diagonal(dim1=-2, dim2=-1).abs()
    rounding = probs.numel() * torch.finfo(probs.dtype).eps
    singular = pivots.amin(-1) <= rounding * pivots.amax(-1)
    # log det of the identity is 0, and it has nothing to learn
    log_det: Tensor = torch.linalg.slogdet(torch.where(singular, identity, joint)).logabsdet
    return -log_det.to(widened(logits).dtype)


class DMILoss(nn.Module):
    """One number per batch, which label noise changes by a constant; start from a network trained by cross-entropy.

    A batch should have some ten examples of every class.

    >>> probs = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
    >>> round(DMILoss(classes=3)(probs.log(), torch.tensor([0, 0, 1, 2])).item(), 4)
    0.7133
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of the batch, a scalar, from logits (B, K)."""
        if output.shape[-1] != self.classes:
            raise InputError(f"DMILoss is for {self.classes} classes, but the logits have {output.shape[-1]}")
        return dmi(output, target, self.classes)
