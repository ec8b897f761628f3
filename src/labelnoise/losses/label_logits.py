"""Smoothed labels as points in logit space, the last category at 0: the targets of the Logistic-Normal likelihood.

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
With a dummy class, which no label has, that category is the dummy, and all K classes are treated alike. Without it the
last class is at 0, and labels of it lie √(K - 1) times as far out as others. Soft labels are not in the paper.
"""

import math

import torch
from torch import Tensor

from labelnoise.losses.base import widened


def label_height(categories: int, smoothing: float) -> float:
    """C: how far the logit of a smoothed label lies above the others; the dummy class counts as a category."""
    return math.log1p((1 - smoothing) * categories / smoothing)


def label_residual(mu: Tensor, target: Tensor, *, tau: float | Tensor, smoothing: float, dummy: bool = True) -> Tensor:
    """mu less τ times the logits of the labels, which are class indices (B,) or soft (B, K).

    mu is (B, K), or (B, K - 1) without dummy class.
    """
    mu, last = widened(mu), mu.shape[-1]
    if target.ndim == mu.ndim:
        logits = (target.to(mu.dtype) * ((1 - smoothing) * (last + 1) / smoothing)).log1p()
        return mu - tau * (logits if dummy else logits[..., :-1] - logits[..., -1:])
    label = target.unsqueeze(-1)
    height = tau * label_height(last + 1, smoothing) * torch.ones_like(mu[..., :1])
    if dummy:
        return mu.scatter_add(-1, label, -height)  # no one-hot target is ever made
    pivot = label == last
    return (mu + height * pivot).scatter_add(-1, torch.where(pivot, 0, label), -height * ~pivot)


def log_volume(target: Tensor, categories: int, smoothing: float, dummy: bool = True) -> float | Tensor:
    """Σ log of the smoothed label's probabilities: how the way from logits to probabilities scales volumes.

    One number for all class indices (B,), and (B,) for soft labels (B, K).
    """
    least = smoothing / categories
    if target.ndim == 1:
        return math.log1p(least - smoothing) + (categories - 1) * math.log(least)
    return ((1 - smoothing) * widened(target) + least).log().sum(-1) + (math.log(least) if dummy else 0.0)


def noisy_posterior(mu: Tensor, tau: float | Tensor, smoothing: float = 0.01) -> Tensor:
    """Probabilities of the given labels, (B, K), under a dummy class: mu / (τC), which mu tends to, made to sum to 1.

    Rows without a positive entry are uniform. The softmax of mu / τ is sharper than this.
    """
    shares = (widened(mu) / (tau * label_height(mu.shape[-1] + 1, smoothing))).clamp(0, 1)
    total = shares.sum(-1, keepdim=True)
    return torch.where(total > 0, shares / total.where(total > 0, 1), 1 / mu.shape[-1])
