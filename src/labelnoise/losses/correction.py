"""Losses that know the transition matrix T[i, j] = P(given j | true i).

Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017 (forward);
Liu and Tao, Classification with noisy labels by importance reweighting, TPAMI 2016.
Fidelity: T mixes probabilities as p @ T; log space replaces the public codes' clipped probabilities.
"""

import math

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from labelnoise.losses.base import Loss, log_softmax, picked
from labelnoise.noise.matrix import TransitionMatrix

LOG_ZERO = -1e5  # below every log-probability of logits up to ±1e4, so that T = I is cross-entropy, and yet finite
LARGEST_LOG_WEIGHT = -math.log(1e-12)


def forward_corrected(logits: Tensor, target: Tensor, T: Tensor) -> Tensor:
    """-log (p @ T)_y of each example, (B,)."""
    return -_log_given(log_softmax(logits), target, T)


def importance_weighted(logits: Tensor, target: Tensor, T: Tensor, *, detach: bool) -> Tensor:
    """p_y / (p @ T)_y · (-log p_y) of each example, (B,); detached, the weight is a constant to the gradient."""
    log_probs = log_softmax(logits)
    log_p = picked(log_probs, target)
    weight = (log_p - _log_given(log_probs, target, T)).clamp(max=LARGEST_LOG_WEIGHT).exp()
    return -(weight.detach() if detach else weight) * log_p


def mixed_log_probs(log_probs: Tensor, T: Tensor) -> Tensor:
    """log(p @ T), (B, K): of the given labels, from those of the true classes."""
    probs = log_probs.exp() @ T.to(log_probs.dtype)
    return probs.clamp(min=torch.finfo(probs.dtype).tiny).log()


class ForwardLoss(Loss):
    """Cross-entropy of the given labels as T makes them from the predicted true ones.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([2])
    >>> round(ForwardLoss([[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.1, 0.0, 0.9]])(logits, target).item(), 4)
    1.7749
    """

    T: Tensor

    def __init__(self, T: Tensor | ArrayLike, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("T", validated(T).probs)

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return forward_corrected(output, target, self.T)


class ReweightLoss(Loss):
    """Cross-entropy weighted by how likely each given label is to be the true one; the weights are constants.

    >>> logits, target = torch.tensor([[1.0, 0.5, -0.5]]), torch.tensor([1])
    >>> round(ReweightLoss([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])(logits, target).item(), 4)
    0.9465
    """

    T: Tensor

    def __init__(self, T: Tensor | ArrayLike, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("T", validated(T).probs)

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        return importance_weighted(output, target, self.T, detach=True)


def validated(T: Tensor | ArrayLike) -> TransitionMatrix:
    """The matrix in whichever form it is given, checked."""
    return TransitionMatrix(T) if isinstance(T, Tensor) else TransitionMatrix.from_rows(T)


def _log_given(log_probs: Tensor, target: Tensor, T: Tensor) -> Tensor:
    log_T = T.clamp(min=torch.finfo(T.dtype).tiny).log().masked_fill(T <= 0, LOG_ZERO).to(log_probs.dtype)
    return (log_probs + log_T.T[target]).logsumexp(-1)  # (B, K) -> (B,)
