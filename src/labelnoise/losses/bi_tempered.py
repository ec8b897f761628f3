"""Bi-tempered logistic loss: a bounded logarithm (t1 < 1) of a softmax with a heavy tail (t2 > 1); CE at t1 = t2 = 1.

Amid et al., Robust bi-tempered logistic loss based on Bregman divergences, NeurIPS 2019.
Fidelity: the authors' code adds 1e-10 inside log_t(y) and stops the search for the normaliser after 5 steps; here the
limits are taken exactly and `normalisers.py` finds the normaliser to rounding error. At t2 = 1 it is generalised
cross-entropy with q = 1 - t1, less (1 - Σ P^(2-t1)) / (2-t1).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, picked
from labelnoise.losses.normalisers import chosen
from labelnoise.losses.tempered import curvature, tempered_log_softmax


def bi_tempered(
    logits: Tensor,
    target: Tensor,
    t1: float | Tensor,
    t2: float | Tensor,
    smoothing: float = 0.0,
    *,
    normaliser: str = "newton",
    iterations: int | None = None,
) -> Tensor:
    """Bregman divergence of each example, (B,), between its label and the tempered softmax P.

    -log_t1(P_y) - (1 - Σ P^(2-t1)) / (2-t1) for class indices (B,), for soft labels (B, K) the mean under them less
    their own part. Smoothing gives every other class smoothing / (K - 1).
    """
    log_probs = tempered_log_softmax(logits, t2, normaliser, iterations)
    q = curvature(1 - t1, log_probs)
    spread = ((1 + q) * log_probs).exp().sum(-1)
    if target.ndim < logits.ndim and not smoothing:
        return (spread - 1) / (1 + q) - _log(picked(log_probs, target), q)
    labels = target.to(log_probs.dtype) if target.ndim == logits.ndim else F.one_hot(target, logits.shape[-1])
    others = smoothing / (logits.shape[-1] - 1)
    labels = (1 - smoothing - others) * labels + others
    own = labels.clamp(min=torch.finfo(log_probs.dtype).tiny).log()
    log_probs = log_probs.where(labels > 0, 0)  # a class without a share may have a log_t1 beyond all numbers
    return (labels * (_log(own, q) - _log(log_probs, q))).sum(-1) + (spread - labels.pow(1 + q).sum(-1)) / (1 + q)


class BiTemperedLoss(Loss):
    """Below 1, t1 bounds what one example can cost; above 1, t2 gives unlikely classes a heavy tail.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([0])
    >>> round(BiTemperedLoss(t1=0.5, t2=2.0)(logits, target).item(), 4)
    0.3119
    """

    def __init__(
        self,
        t1: float = 0.7,
        t2: float = 2.0,
        smoothing: float = 0.0,
        iterations: int | None = None,
        reduction: str = "mean",
        *,
        normaliser: str = "newton",
    ) -> None:
        super().__init__(reduction)
        check_settings(t1, t2, smoothing, normaliser)
        self.t1, self.t2, self.smoothing = t1, t2, smoothing
        self.iterations, self.normaliser = iterations, normaliser

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        settings = (self.t1, self.t2, self.smoothing)
        return bi_tempered(output, target, *settings, normaliser=self.normaliser, iterations=self.iterations)


def check_settings(t1: float | Tensor, t2: float | Tensor, smoothing: float, normaliser: str) -> None:
    """Refuse what makes no loss; inside a pack the temperatures are tensors, and were looked at before."""
    if not isinstance(t1, Tensor) and not t1 < 2:
        raise InputError(f"t1 must be below 2, not {t1}")
    if not 0 <= smoothing < 1:
        raise InputError(f"smoothing must be at least 0 and below 1, not {smoothing}")
    chosen(normaliser, t2)


def _log(log_x: Tensor, q: Tensor) -> Tensor:
    return (q * log_x).expm1() / q  # log_t(x) with t = 1 - q
