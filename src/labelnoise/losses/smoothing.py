"""Smeared losses: the losses of all classes share in that of the label.

Lukasik, Bhojanapalli, Menon and Kumar, Does label smoothing mitigate label noise?, ICML 2020.
Fidelity: alpha is spread over all K classes, the label's own included, as in torch. The paper writes forward correction
as if T mixed logits; its figure shows that T mixes probabilities, as here.
"""

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, log_softmax, picked
from labelnoise.noise.matrix import SUM_TOLERANCE


def at_label(values: Tensor, target: Tensor) -> Tensor:
    """The entry of each row (B, K) at its class index (B,), or the row's mean under soft labels (B, K)."""
    return picked(values, target) if target.ndim < values.ndim else (target.to(values.dtype) * values).sum(-1)


def label_smoothed(logits: Tensor, target: Tensor, alpha: float | Tensor) -> Tensor:
    """(1 - α) ℓ_y + α/K Σ_k ℓ_k of each example, (B,); backward correction of symmetric noise α is -α / (1 - α)."""
    log_probs = log_softmax(logits)
    return -(1 - alpha) * at_label(log_probs, target) - alpha * log_probs.mean(-1)


def forward_smoothed(logits: Tensor, target: Tensor, alpha: float | Tensor) -> Tensor:
    """-log((1 - α) p_y + α/K) of each example, (B,): forward correction of symmetric noise, 0 ≤ α < 1."""
    log_probs = log_softmax(logits)
    ones = torch.ones_like(log_probs)
    mixed = torch.logaddexp((ones * (1 - alpha)).log() + log_probs, (ones * alpha / logits.shape[-1]).log())
    return -at_label(mixed, target)


def smeared(logits: Tensor, target: Tensor, M: Tensor) -> Tensor:
    """Σ_k M[y, k] ℓ_k of each example, (B,), for a matrix (K, K) whose rows sum to 1, with entries of either sign."""
    log_probs = log_softmax(logits)
    return -at_label(log_probs, label_weights(target, M.to(log_probs.dtype)))


def label_weights(target: Tensor, M: Tensor) -> Tensor:
    """The rows of M (K, K) that class indices (B,) name, or soft labels (B, K) mix: (B, K)."""
    return target.to(M.dtype) @ M if target.ndim == M.ndim else M[target]


class LabelSmoothingLoss(Loss):
    """Cross-entropy with a share alpha of every label spread over all classes; a negative alpha sharpens instead.

    >>> logits, target = torch.tensor([[2.0, 0.5, -1.0]]), torch.tensor([0])
    >>> round(LabelSmoothingLoss(alpha=0.3)(logits, target).item(), 4)
    0.6913
    """

    def __init__(self, alpha: float = 0.1, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not alpha < 1:
            raise InputError(f"alpha must be below 1, not {alpha}")
        self.alpha = alpha

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return label_smoothed(output, target, self.alpha)


class SmearedLoss(Loss):
    """Cross-entropy of all classes, weighed by the label's row of M: smoothing, backward correction, or one's own.

    >>> logits, target = torch.tensor([[2.0, 0.5, -1.0]]), torch.tensor([0])
    >>> round(SmearedLoss([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])(logits, target).item(), 4)
    0.6913
    """

    M: Tensor

    def __init__(self, M: Tensor | ArrayLike, reduction: str = "mean") -> None:
        super().__init__(reduction)
        matrix = torch.as_tensor(M, dtype=torch.float64)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        if not square or not bool(((matrix.sum(1) - 1).abs() <= SUM_TOLERANCE).all()):
            raise InputError(f"M must be a square matrix whose rows sum to 1, not {matrix.tolist()}")
        self.register_buffer("M", matrix)

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return smeared(output, target, self.M)
