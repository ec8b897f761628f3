"""Maximising an f-divergence between inputs with their labels and inputs with labels of others.

Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021.
Fidelity: the variational function is fixed, g(p_y), as in the paper's experiments; `divergences.py` says where its form
differs from the authors' code. Of the corrections, "uniform" is the paper's, "sparse" that of the authors' code, though
inexact, and "exact" holds for every T that has an inverse.
"""

from collections.abc import Callable
from math import isfinite

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, log_softmax, neighbours, picked
from labelnoise.losses.correction import validated
from labelnoise.losses.divergences import Divergence, named
from labelnoise.losses.smoothing import at_label, label_weights


def joint_term(log_probs: Tensor, target: Tensor, kind: Divergence, M: Tensor | None = None) -> Tensor:
    """g(p_y) of each example, (B,), for labels that belong to the inputs; Σ_k M[y, k] g(p_k) with a correction."""
    return _at_label(kind.activation, log_probs, target, M)


def product_term(log_probs: Tensor, target: Tensor, kind: Divergence, M: Tensor | None = None) -> Tensor:
    """f*(g(p_y)) of each example, (B,), for labels of others; soft labels (B, K) take the mean over a prior."""
    return _at_label(kind.composed, log_probs, target, M)


def variational_difference(joint: Tensor, product: Tensor, alpha: float | Tensor = 1.0) -> Tensor:
    """Mean joint term less alpha times the mean product term: what is to be maximised."""
    return joint.mean() - (alpha * product).mean()


def correction_matrix(T: Tensor | ArrayLike, correction: str = "exact") -> Tensor:
    """M (K, K), by which the terms of noisy labels have the mean of clean ones, for "uniform" up to a factor."""
    matrix = validated(T)
    if correction == "exact":
        return matrix.inverse()
    eye = torch.eye(matrix.classes, dtype=torch.float64)
    columns = (matrix.probs * (1 - eye)).sum(0)  # how much flows into each class
    if correction == "uniform":
        return eye - columns / (matrix.classes - 1)
    if correction == "sparse":
        return eye - columns
    raise InputError(f"correction must be 'exact', 'uniform' or 'sparse', not {correction!r}")


class FDivergenceLoss(Loss):
    """Minus the divergence that a network's agreement with the labels shows; with T, of the true labels.

    >>> logits, target = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]]), torch.tensor([0, 2])
    >>> round(FDivergenceLoss("jensen_shannon")(logits, target).item(), 4)
    -0.1793
    """

    M: Tensor | None

    def __init__(
        self,
        divergence: str = "total_variation",
        alpha: float = 1.0,
        T: Tensor | ArrayLike | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.divergence = named(divergence)
        if not isfinite(alpha):
            raise InputError(f"alpha must be a number, not {alpha}")
        self.alpha = alpha
        self.register_buffer("M", None if T is None else correction_matrix(T))

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K) of a shuffled batch."""
        log_probs = log_softmax(output)
        product = product_term(log_probs, neighbours(target), self.divergence, self.M)
        return self.alpha * product - joint_term(log_probs, target, self.divergence, self.M)


def _at_label(function: Callable[[Tensor], Tensor], log_probs: Tensor, target: Tensor, M: Tensor | None) -> Tensor:
    if M is not None:
        target = label_weights(target, M.to(log_probs.dtype))
    if target.ndim < log_probs.ndim:
        return function(picked(log_probs, target).exp())  # one class per row, which is all that is needed
    return at_label(function(log_probs.exp()), target)
