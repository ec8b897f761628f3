"""Backward correction: the losses of all classes are weighed by T⁻¹, so that their mean is that of clean labels.

Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017. The fixes for
its negative values follow Kiryo et al., Positive-unlabeled learning with non-negative risk estimator, NeurIPS 2017.
Fidelity: log space replaces the public codes' clipped probabilities; without a fix the loss is unbounded below.
"""

from typing import Literal, get_args

from numpy.typing import ArrayLike
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss
from labelnoise.losses.correction import validated
from labelnoise.losses.smoothing import smeared

Fix = Literal["none", "clamp", "negate"]


def backward_corrected(logits: Tensor, target: Tensor, T_inverse: Tensor) -> Tensor:
    """Σ_k T⁻¹[y, k] · -log p_k of each example, (B,): over given labels its mean is that of -log p over true ones."""
    return smeared(logits, target, T_inverse)


def non_negative(mean: Tensor, fix: Fix) -> Tensor:
    """A batch mean as it is, clamped at 0, or, where it is negative, negated, so that a step raises it again."""
    if fix == "none":
        return mean
    return mean.clamp(min=0) if fix == "clamp" else mean.abs()


class BackwardLoss(Loss):
    """Cross-entropy that is unbiased under noise: on average over given labels it is the loss of the true ones.

    >>> import torch
    >>> logits, target = torch.tensor([[2.0, 0.5, -1.0]]), torch.tensor([1])
    >>> round(BackwardLoss([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])(logits, target).item(), 4)
    1.412
    """

    T_inverse: Tensor

    def __init__(self, T: Tensor | ArrayLike, fix: Fix = "none", reduction: str = "mean") -> None:
        super().__init__(reduction)
        if fix not in get_args(Fix):
            raise InputError(f"fix must be 'none', 'clamp' or 'negate', not {fix!r}")
        if fix != "none" and reduction != "mean":
            raise InputError(f"fix {fix!r} acts on the mean of a batch; use reduction 'mean', not {reduction!r}")
        self.fix = fix
        self.register_buffer("T_inverse", validated(T).inverse())

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K); it may be negative."""
        return backward_corrected(output, target, self.T_inverse)

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of the batch, not below 0 where a fix is asked for; (B,) for the reduction "none"."""
        return non_negative(super().forward(output, target), self.fix)
