"""The tempered softmax, P_k = exp_t(a_k - λ) with the λ for which ΣP = 1: at t = 1 the softmax, above it a heavy tail.

Amid et al., Robust bi-tempered logistic loss based on Bregman divergences, NeurIPS 2019.
Fidelity: the gradient is that of the exact λ, as in the authors' code; how λ is found says `normalisers.py`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from labelnoise.losses.base import widened
from labelnoise.losses.normalisers import Find, check_classes, chosen, log_tempered_exp


def tempered_log_softmax(
    logits: Tensor, t: float | Tensor, normaliser: str = "newton", iterations: int | None = None
) -> Tensor:
    """log P of each example, (B, K), in at least float32; classes outside the support of t < 1 have a finite one."""
    find, steps = chosen(normaliser, t)
    check_classes(t, logits.shape[-1])
    a = widened(logits)
    return _apply(a, curvature(t - 1, a), find, iterations or steps)


def curvature(c: float | Tensor, like: Tensor) -> Tensor:
    """c as a 0-d tensor, with 2⁻¹⁰⁰ for 0: log1p(cx) / c and expm1(cx) / c are then x to the last digit."""
    value = c if isinstance(c, Tensor) else torch.full((), c, dtype=like.dtype, device=like.device)
    return torch.where(value == 0, 2.0**-100, value).to(like.dtype)


class _TemperedLogSoftmax(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, c: Tensor, find: Find, iterations: int) -> Tensor:
        a = a - a.amax(-1, keepdim=True)
        edge = torch.finfo(a.dtype).eps / 2 - 1  # keeps what lies outside the support finite
        return log_tempered_exp(find(a, c, iterations) - a, c, edge)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output, inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        log_probs, c = ctx.saved_tensors
        slope = (c * log_probs).exp()  # P^(t-1): of log P_k by a_k at a fixed λ
        escort = slope * log_probs.exp()  # P^t: its share is the derivative of λ by a_k
        grad = slope * grad
        return grad - escort * (grad.sum(-1, keepdim=True) / escort.sum(-1, keepdim=True)), None, None, None


_apply: Callable[..., Tensor] = _TemperedLogSoftmax.apply
