"""How far labels lie from what is predicted, before and after the learnt covariance: what is attenuated.

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023, Figures 6, 7.
"""

import torch
from torch import Tensor

from labelnoise.losses.base import widened


def squared_residuals(
    residual: Tensor, c: Tensor, lam: float | Tensor, covariance: str = "full"
) -> tuple[Tensor, Tensor]:
    """‖r‖² and rᵀ Σ⁻¹ r of each row r, (B,) both: twice the part of `normal_nll` that depends on the label."""
    scaled = _scaled(residual, widened(c), lam, covariance)
    return residual.square().sum(-1), scaled.square().sum(-1)


def _scaled(residual: Tensor, c: Tensor, lam: float | Tensor, covariance: str) -> Tensor:
    # Σ^(-1/2) r, as `normal_nll` has Σ
    if covariance == "identity":
        return residual
    if covariance == "full" and residual.shape[-1] > 1:
        along = (c * residual).sum(-1, keepdim=True) / (lam + c.square().sum(-1, keepdim=True))
        return torch.addcmul(residual, c, along, value=-1) / lam
    return residual / (c.square() + lam)
