"""The likelihood of a label under normal logits, over many draws in bounded memory.

The gradient of -log mean_s p_s is a mean of p_s - e_y, weighted by how likely the draws make the label. It is summed up
together with the value, some draws at a time: nothing of size S·B·K is kept, and the backward pass only scales it.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from labelnoise.losses.noisy_logits import Law, Normals, chunks, noisy_logits


def monte_carlo_nll(law: Law, target: Tensor, normals: Normals) -> Tensor:
    """-log mean_s softmax(noisy_logits)_y of each example, (B,)."""
    return _linear(law, target, normals) if torch.compiler.is_compiling() else _apply(*law, target, *normals)[0]


def _linear(law: Law, target: Tensor, normals: Normals) -> Tensor:
    # what `_NLL` computes, for a compiler, which does not follow its backward pass: a constant, and zeros that have
    # the gradient
    loc, scale, factors = law
    nll, *slopes = _summed((loc.detach(), scale.detach(), factors.detach()), target, normals)
    for moving, slope in zip((loc, scale, *factors.unbind(-1)), slopes, strict=True):
        nll = nll + ((moving - moving.detach()) * slope.T).sum(-1)
    return nll


class _NLL(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(loc: Tensor, scale: Tensor, factors: Tensor, target: Tensor, *noise: Tensor) -> tuple[Tensor, ...]:
        nll, *slopes = _summed((loc, scale, factors), target, (noise[0], noise[1]))
        by_loc, by_scale, *by_factors = (slope.T for slope in slopes)
        by_factor = torch.stack(by_factors, -1) if by_factors else torch.zeros_like(factors)
        return nll, by_loc, by_scale, by_factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        by_loc, by_scale, by_factor = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
        return grad * by_loc, grad * by_scale, grad.unsqueeze(-1) * by_factor, None, None, None


def _summed(law: Law, target: Tensor, normals: Normals) -> tuple[Tensor, ...]:
    # the value, (B,), and its derivatives by loc, scale and each factor, (K, B)
    parts = (_part(noisy_logits(law, some), target, some) for some in chunks(law, normals))
    log_p, *slopes = reduce(_merged, parts)
    return math.log(len(normals[0])) - log_p, *slopes


def _part(logits: Tensor, target: Tensor, normals: Normals) -> tuple[Tensor, ...]:
    # log Σ_s p_s of the label, (B,), and the derivatives of minus it by loc, scale and each factor, (K, B)
    noise, factor_noise = normals
    label = F.one_hot(target, len(logits)).T[:, None].to(logits.dtype)  # (K, 1, B)
    log_probs = logits.log_softmax(0)
    log_p = log_probs.gather(0, target.expand(1, len(noise), -1)).squeeze(0)  # (S, B)
    missed = (log_probs.exp_() - label) * log_p.softmax(0)
    directions = (noise.movedim(-1, 0), *factor_noise.unbind(-1))
    return log_p.logsumexp(0), missed.sum(1), *((missed * each).sum(1) for each in directions)


def _merged(one: tuple[Tensor, ...], other: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    # the same of two sets of draws together
    share = (other[0] - one[0]).sigmoid()  # of the other set in their common likelihood
    slopes = (torch.lerp(a, b, share) for a, b in zip(one[1:], other[1:], strict=True))
    return torch.logaddexp(one[0], other[0]), *slopes


_apply: Callable[..., tuple[Tensor, ...]] = _NLL.apply
