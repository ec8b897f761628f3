"""The eight f-divergences D_f(P‖Q) = Σ q f(p/q), with what maximising their variational form needs.

Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021; Nowozin et al., f-GAN, NeurIPS 2016.
Fidelity: every activation increases; in the authors' code those of reverse KL, squared Hellinger and Neyman decrease:
it unlearns. Jensen-Shannon is twice the usual one and Pearson Σ (p - q)²/q: to these the paper's conjugates belong.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import softplus

from labelnoise.errors import InputError
from labelnoise.registry import nearest

Function = Callable[[Tensor], Tensor]
LOG_2 = math.log(2)


@dataclass(frozen=True)
class Divergence:
    """A convex f with f(1) = 0, and the functions that belong to it."""

    name: str
    f: Function  # of v = p/q
    conjugate: Function  # f*(u), for u in its domain
    derivative: Function  # f'(v): the variational function at which the bound is tight
    activation: Function  # g(v): the fixed variational function, of a probability v
    composed: Function  # f*(g(v)), without going through the edge of the domain of f*


def jeffrey_conjugate(u: Tensor) -> Tensor:
    """1/w - 1 - log w with w + log w = 1 - u, w found by Newton's method; its derivative is 1/w."""
    x = 1 - u.detach()
    w = torch.where(x > 1, x, x.clamp(max=1).exp())
    for _ in range(5):  # which double precision needs
        w = w * (1 + x - w.log()) / (1 + w)
    return 1 / w - 1 - w.log() + (u - u.detach()) / w  # the last term is 0, and brings the derivative


# f(v), f*(u) and f'(v)
_GENERATORS: dict[str, tuple[Function, Function, Function]] = {
    "total_variation": (lambda v: (v - 1).abs() / 2, lambda u: u.clamp(min=-0.5), lambda v: (v - 1).sign() / 2),
    "jensen_shannon": (
        lambda v: v.xlogy(v) - (v + 1) * ((v + 1) / 2).log(),
        lambda u: -(2 - u.exp()).log(),
        lambda v: LOG_2 - (1 / v).log1p(),
    ),
    "pearson": (lambda v: (v - 1) ** 2, lambda u: u**2 / 4 + u, lambda v: 2 * (v - 1)),
    "kl": (lambda v: v.xlogy(v), lambda u: (u - 1).exp(), lambda v: 1 + v.log()),
    "reverse_kl": (lambda v: -v.log(), lambda u: -1 - (-u).log(), lambda v: -1 / v),
    "jeffrey": (lambda v: (v - 1) * v.log(), jeffrey_conjugate, lambda v: 1 + v.log() - 1 / v),
    "squared_hellinger": (lambda v: (v.sqrt() - 1) ** 2, lambda u: u / (1 - u), lambda v: 1 - v.rsqrt()),
    "neyman": (lambda v: (1 - v) ** 2 / v, lambda u: 2 - 2 * (1 - u).sqrt(), lambda v: 1 - v**-2),
}
# g(v) and f*(g(v))
_ACTIVATIONS: dict[str, tuple[Function, Function]] = {
    "total_variation": (lambda v: v.tanh() / 2, lambda v: v.tanh() / 2),
    "jensen_shannon": (lambda v: LOG_2 - softplus(-v), lambda v: softplus(v) - LOG_2),
    "pearson": (lambda v: v, lambda v: v**2 / 4 + v),
    "kl": (lambda v: v, lambda v: (v - 1).exp()),
    "reverse_kl": (lambda v: -(-v).exp(), lambda v: v - 1),
    "jeffrey": (lambda v: v, jeffrey_conjugate),
    "squared_hellinger": (lambda v: -(-v).expm1(), lambda v: v.expm1()),
    "neyman": (lambda v: -(-v).expm1(), lambda v: -2 * (-v / 2).expm1()),
}
DIVERGENCES: Mapping[str, Divergence] = {
    name: Divergence(name, *functions, *_ACTIVATIONS[name]) for name, functions in _GENERATORS.items()
}


def named(name: str) -> Divergence:
    """The divergence of this name, or an error that names the nearest one."""
    if name not in DIVERGENCES:
        raise InputError(f"unknown divergence {name!r}; {nearest(name, DIVERGENCES)}")
    return DIVERGENCES[name]


def divergence(p: ArrayLike | Tensor, q: ArrayLike | Tensor, name: str) -> Tensor:
    """D_f of two tables of probabilities of one shape; infinite where an empty cell makes it so."""
    kind = named(name)
    p, q = (torch.as_tensor(table, dtype=torch.float64) for table in (p, q))
    beyond = kind.derivative(torch.tensor(math.inf, dtype=p.dtype, device=p.device))  # f(v)/v as v grows
    inside = q * kind.f(p / q.where(q > 0, 1))
    return torch.where(q > 0, inside, (p * beyond).where(p > 0, 0)).sum()
