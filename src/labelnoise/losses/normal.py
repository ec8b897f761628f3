"""Residuals under a normal law whose covariance is learnt: what the Logistic-Normal likelihood stands on.

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
Fidelity: a closed form in O(d), where the authors' code has a generic low-rank normal. How the paper parametrises its
isotropic and diagonal scales is not known: here they are squares above the floor, as the full form is for d = 1.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.registry import nearest

Three = tuple[Tensor, Tensor, Tensor]
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
        loss, _, _ = _rank_one(residual, c, lam * torch.ones_like(residual[..., :1]))
        return loss.squeeze(-1)
    square = c.square()
    return (residual / (square + lam)).square().sum(-1) / 2 + (d // width) * (square / lam).log1p().sum(-1)


def attenuated(r_norm: Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """`normal_nll` at the best full covariance for residuals of this length, and its slope: logarithmic above λ."""
    near, far, inside = r_norm / lam, r_norm.clamp(min=lam), r_norm <= lam
    return torch.where(inside, near.square() / 2, (far / lam).log() + 0.5), torch.where(inside, near / lam, 1 / far)


class _RankOne(torch.autograd.Function):
    """The loss under Σ = (c cᵀ + λ)², s = ‖c‖² and α = cᵀr / (λ + s), each (B, 1); gradients combine r and c.

    s and α are outputs since the backward pass uses them, which so is differentiable too.
    """

    @staticmethod
    def forward(r: Tensor, c: Tensor, lam: Tensor) -> Three:
        scratch = c * c  # the one large tensor here: to allocate costs more than to compute
        s = scratch.sum(-1, keepdim=True)
        alpha = torch.mul(c, r, out=scratch).sum(-1, keepdim=True) / (lam + s)
        # Not expanded: near the best c, ‖r‖² - (2λ + s) α² is a small difference of large numbers.
        w = torch.addcmul(r, c, alpha, value=-1, out=scratch)
        return (torch.linalg.vector_norm(w, dim=-1, keepdim=True) / lam).square() / 2 + (s / lam).log1p(), s, alpha

    @staticmethod
    def setup_context(ctx: Any, inputs: Three, output: Three) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, by_loss: Tensor, by_s: Tensor, by_alpha: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        r, c, lam, loss, s, alpha = ctx.saved_tensors
        D, steep = lam + s, alpha / lam  # powers of D may leave float32
        pull, lift = by_alpha / D, by_loss * steep
        cross = pull - lift / D - lift / lam
        own = 2 * (by_s - pull * alpha + (by_loss + lift * alpha) / D) + lift * steep
        by_lam = None
        if ctx.needs_input_grad[2]:
            q = 2 * (loss - (s / lam).log1p())
            by_lam = by_loss * ((alpha.square() / D - q - s / D) / lam) - pull * alpha
        return (r * (by_loss / lam.square())).addcmul_(c, cross), (c * own).addcmul_(r, cross), by_lam

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Three, int]:
        # Rows are rows: the mapped axis goes in front, and needs no more care.
        pairs = zip(inputs, in_dims, strict=True)
        return _rank_one(*(x.expand(info.batch_size, *x.shape) if i is None else x.movedim(i, 0) for x, i in pairs)), 0


_rank_one: Callable[..., Three] = _RankOne.apply
