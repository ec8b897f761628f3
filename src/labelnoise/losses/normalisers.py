"""Ways to find the λ for which the tempered softmax P_k = exp_t(a_k - λ) sums to 1; a (..., K), its maximum 0.

Amid et al., Robust bi-tempered logistic loss based on Bregman divergences, NeurIPS 2019.
Fidelity: the authors' code takes 5 fixed-point steps for t > 1, which leave |ΣP - 1| up to 0.2, and 5 bisections for
t < 1. The default here is Newton's method: for t from 0.2 to 6 and 2 to 20,000 classes 10 steps leave rounding error.

With c = t - 1 and z = λ - a: P = (1 + cz)^(-1/c), dP/dλ = -P^t. Newton's method runs on ((ΣP)^-c - 1) / c, a norm of
1 + cz and so concave in λ, and linear where the logits are equal or one stands out: from λ = max a it never overshoots.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.errors import InputError

LARGEST = 80.0  # exponent, with room below the 88 of single precision
Find = Callable[[Tensor, Tensor, int], Tensor]  # a (..., K), c and a number of steps -> λ (..., 1)


class Normaliser(NamedTuple):
    """How λ is found, and in how many steps."""

    find: Find
    iterations: int


def log_tempered_exp(z: Tensor, c: Tensor, edge: float = -1.0) -> Tensor:
    """log exp_t(-z) for t = 1 + c; outside the support of t < 1 its value at cz = `edge`, which is -inf at -1."""
    return (c * z).clamp(min=edge).log1p() / -c


def newton(a: Tensor, c: Tensor, iterations: int) -> Tensor:
    """Newton's method: quadratic, monotone, and right in one step for the softmax."""
    lam = torch.zeros_like(a[..., :1])
    scaled = c * a
    for _ in range(iterations):
        curve = (c * lam - scaled).clamp(min=-1)
        probs = (curve.log1p() / -c).exp()
        total, slope = probs.sum(-1, True), (probs / (1 + curve).clamp(min=1e-30)).sum(-1, True)  # slope: ΣP^t
        lam = lam + total * (c * total.log()).expm1() / (c * slope)
    return lam


def fixed_point(a: Tensor, c: Tensor, iterations: int) -> Tensor:
    """The authors' for t > 1: a, scaled by (Σ exp_t)^-c of itself, again and again."""
    log_total = log_tempered_exp(-a, c).logsumexp(-1, True)
    for _ in range(iterations):
        log_total = log_tempered_exp(-a * (-c * log_total).exp(), c).logsumexp(-1, True)
    return (c * log_total).expm1() / c


def bisection(a: Tensor, c: Tensor, iterations: int) -> Tensor:
    """The authors' for t < 1, right for every t: between the λ of one class and that of equal logits."""
    low = torch.zeros_like(a[..., :1])
    high = low + (c * math.log(a.shape[-1])).expm1() / c
    for _ in range(iterations):
        middle = (low + high) / 2
        above = log_tempered_exp(middle - a, c).exp().sum(-1, True) < 1
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return (low + high) / 2


NORMALISERS = {
    "newton": Normaliser(newton, 10),
    "fixed_point": Normaliser(fixed_point, 20),
    "bisection": Normaliser(bisection, 50),
}


def chosen(normaliser: str, t: float | Tensor) -> Normaliser:
    """The normaliser of this name, if it is one for t; inside a pack t is a tensor and was looked at before."""
    if normaliser not in NORMALISERS:
        raise InputError(f"normaliser must be one of {', '.join(NORMALISERS)}, not {normaliser!r}")
    if not isinstance(t, Tensor) and (t <= 0 or (t < 1 and normaliser == "fixed_point")):
        raise InputError(f"t2 must be above 0, and at least 1 for the normaliser fixed_point, not {t}")
    return NORMALISERS[normaliser]


def check_classes(t2: float | Tensor, classes: int) -> None:
    """Refuse a tail so heavy that K^(t2 - 1) is no number of single precision; in a pack t2 was looked at before."""
    if not isinstance(t2, Tensor) and (t2 - 1) * math.log(classes) > LARGEST:
        most = 1 + LARGEST / math.log(classes)
        raise InputError(f"for {classes} classes t2 must be at most {most:.1f}, not {t2}")
