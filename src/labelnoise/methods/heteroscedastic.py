"""Heteroscedastic logits: normal, with a spread that depends on the input, and averaged over draws.

Fidelity: 1,000 draws shared by the batch, where public code has 10,000 (preset `official`, with that code's settings
for CIFAR); the loss takes their mean in log space without a clip. The presets `het`, which is Kendall and Gal's model,
`het_tau` and `het_tau_full` are the three that Englesson et al., Logistic-normal likelihoods for heteroscedastic label
noise, TMLR 2023, compare, with the values, or the pair of them, that their search chose most often.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.losses.heteroscedastic import check_settings, heteroscedastic_nll, sampled_log_probs
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

    presets: ClassVar = {
        "het": {"temperature": 1.0, "factors": 0},
        "het_tau": {"temperature": 20.0, "factors": 0},
        "het_tau_full": {"temperature": 10.0, "factors": 4},
        "official": {"temperature": 1.3, "factors": 6, "samples": 10_000},
    }

    temperature: float = hyper(1.0, low=0.1, high=20.0, log=True)
    factors: int = 0  # rank of what the covariance has beyond its diagonal
    samples: int = 1000

    def __post_init__(self) -> None:
        if self.factors < 0:
            raise InputError(f"factors must be at least 0, not {self.factors}")
        check_settings(self.temperature, self.samples)

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
