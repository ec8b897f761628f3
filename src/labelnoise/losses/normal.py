"""Residuals under a normal law whose covariance is learnt: what the Logistic-Normal likelihood stands on.

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
Fidelity: a closed form in O(d), where the authors' code has a generic low-rank normal. How the paper parametrises its
isotropic and diagonal scales is not known: here they are squares above the floor, as the full form is for d = 1.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.rank_one import rank_one
from labelnoise.registry import nearest

COVARIANCES = ("identity", "isotropic", "diagonal", "full")


def scale_width(covariance: str, d: int) -> int:
    """How many numbers c describe a d × d covariance of this kind."""
    if covariance not in COVARIANCES:
        raise InputError(f"unknown covariance {covariance!r}; {nearest(covariance, COVARIANCES)}")
    return {"identity": 0, "isotropic": 1}.get(covariance, d)


def normal_nll(residual: Tensor, c: Tensor, lam: float | Tensor, covariance: str = "full") -> Tensor:
    """½ rᵀ Σ⁻¹ r + ½ log|Σ| - d log λ of each row r, (B,): 0 at r = 0 and c = 0.

    Σ is (c cᵀ + λ)² for "full", diag(c² + λ)² for "diagonal" and, with one c, for "isotropic"; for "identity" it is 1.
    """
    width = scale_width(covariance, d := residual.shape[-1])
    if c.shape[-1] != width:
        raise InputError(f"covariance {covariance!r} of {d} logits needs a c of {width} columns, not {c.shape[-1]}")
    if covariance == "identity":
        return residual.square().sum(-1) / 2
    if covariance == "full" and d > 1:  # of a single logit the closed form would be a difference of large numbers
        return rank_one(residual, c, lam * torch.ones_like(residual[..., :1])).squeeze(-1)
    square = c.square()
    return (residual / (square + lam)).square().sum(-1) / 2 + (d // width) * (square / lam).log1p().sum(-1)


def attenuated(r_norm: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """`normal_nll` at the best full covariance for residuals of this length, and its slope: logarithmic above λ."""
    near, far, inside = r_norm / lam, r_norm.clamp(min=lam), r_norm <= lam
    return torch.where(inside, near.square() / 2, (far / lam).log() + 0.5), torch.where(inside, near / lam, 1 / far)
