"""Mixup: training on convex combinations of two examples and of their labels.

Fidelity: one coefficient per batch and a partner from the same batch, as in the authors' code.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, hyper, register
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("mixup")
@dataclass(frozen=True)
class Mixup(Method):
    """Slows memorising down: x' = λx + (1 - λ)x_π and λ l(f(x'), y) + (1 - λ) l(f(x'), y_π), λ ~ Beta(alpha, alpha)."""

    paper: ClassVar[str] = "Zhang et al., mixup: beyond empirical risk minimization, ICLR 2018"

    alpha: float = hyper(1.0, low=0.1, high=8.0, log=True)

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """λ, and each example's partner."""
        return {"lam": rng.beta(self.alpha, self.alpha), "perm": rng.permutation(size)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy of mixed inputs with mixed labels."""
        lam, perm = ctx.draws["lam"], ctx.draws["perm"]
        logits = nets["net"](lam * batch.x + (1 - lam) * batch.x[perm])
        loss = lam * cross_entropy(logits, batch.y) + (1 - lam) * cross_entropy(logits, batch.y[perm])
        return Terms(loss.mean())
