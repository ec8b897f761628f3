"""Heteroscedastic logits: normal, with a spread that depends on the input, and averaged over draws.

Fidelity: 1,000 draws shared by the batch, where public code has 10,000; the loss takes their mean in log space without
a clip. Temperature 1 without factors is Kendall and Gal's model.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from labelnoise.losses.heteroscedastic import heteroscedastic_nll, sampled_log_probs
from labelnoise.methods.base import Method, hyper, register
from labelnoise.nets.heads import HeteroscedasticHead
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("heteroscedastic")
@dataclass(frozen=True)
class Heteroscedastic(Method):
    """Learns where labels are doubtful: -log E softmax(u / temperature)_y, u ~ N(loc(x), diag(scale²) + factors²)."""

    paper: ClassVar[str] = (
        "Collier et al., Correlated input-dependent label noise in large-scale image classification, CVPR 2021"
    )

    temperature: float = hyper(1.0, low=0.1, high=20.0, log=True)
    factors: int = 0  # rank of what the covariance has beyond its diagonal
    samples: int = 1000

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """One network that returns the law of the logits."""
        return {"net": spec.net(partial(HeteroscedasticHead, classes=spec.classes, factors=self.factors))}

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """Standard normals that all rows share, (S, 1, K) and (S, 1, R)."""
        return {
            "noise": rng.normal(self.samples, 1, spec.classes),
            "factor_noise": rng.normal(self.samples, 1, self.factors),
        }

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean negative log of the Monte-Carlo likelihood."""
        loc, scale, factors = nets["net"](batch.x)
        nll = heteroscedastic_nll(loc, scale, factors, batch.y, **ctx.draws, temperature=self.temperature)
        return Terms(nll.mean())

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """The same Monte-Carlo mean, with draws that all rows share."""
        return sampled_log_probs(*nets["net"](x), **ctx.draws, temperature=self.temperature)
