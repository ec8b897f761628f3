"""Mixup: training on convex combinations of two examples and of their labels.

Fidelity: one coefficient per batch and a partner from the same batch, as in the authors' code, whose alpha of 1 is the
default and the preset `official`; as there, alpha = 0 mixes nothing.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, hyper, register
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("mixup")
@dataclass(frozen=True)
class Mixup(Method):
    """Slows memorising down: x' = λx + (1 - λ)x_π and λ l(f(x'), y) + (1 - λ) l(f(x'), y_π), λ ~ Beta(alpha, alpha)."""

    paper: ClassVar[str] = "Zhang et al., mixup: beyond empirical risk minimization, ICLR 2018"
    presets: ClassVar = {"official": {"alpha": 1.0}}

    alpha: float = hyper(1.0, low=0.1, high=8.0, log=True)  # 0: nothing is mixed

    def __post_init__(self) -> None:
        if isinstance(self.alpha, float) and not self.alpha >= 0:  # in a pack it is a tensor
            raise InputError(f"alpha must not be negative, but is {self.alpha}")

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """λ, and each example's partner."""
        whole = torch.ones((), device=rng.device, dtype=rng.dtype)
        return {"lam": rng.beta(self.alpha, self.alpha) if self.alpha else whole, "perm": rng.permutation(size)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy of mixed inputs with mixed labels."""
        lam, perm = ctx.draws["lam"], ctx.draws["perm"]
        logits = nets["net"](lam * batch.x + (1 - lam) * batch.x[perm])
        loss = lam * cross_entropy(logits, batch.y) + (1 - lam) * cross_entropy(logits, batch.y[perm])
        return Terms(loss.mean())
