"""The negative log-likelihood of residuals under a covariance of rank one above a floor, in O(d).

Englesson, Mehrpanah and Azizpour, Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
Fidelity: a closed form, where the authors' code has a generic low-rank normal.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Three = tuple[Tensor, Tensor, Tensor]


def rank_one(r: Tensor, c: Tensor, lam: Tensor) -> Tensor:
    """½ ‖(c cᵀ + λ)⁻¹ r‖² + log(1 + ‖c‖² / λ) of rows r and c (B, d) and λ (B, 1), as (B, 1)."""
    return _plainly(r, c, lam) if torch.compiler.is_compiling() else _alone(r, c, lam)[0]


def _plainly(r: Tensor, c: Tensor, lam: Tensor) -> Tensor:
    # what `_RankOne` computes, for a compiler, which finds its own way to few passes
    s = c.square().sum(-1, keepdim=True)
    w = r - c * (c * r).sum(-1, keepdim=True) / (lam + s)
    return (w / lam).square().sum(-1, keepdim=True) / 2 + (s / lam).log1p()


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
        return _alone(*(x.expand(info.batch_size, *x.shape) if i is None else x.movedim(i, 0) for x, i in pairs)), 0


_alone: Callable[..., Three] = _RankOne.apply
