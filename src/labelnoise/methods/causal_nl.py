"""CausalNL: a hidden true label makes the input and, with it, the given label, so that inputs tell of the noise.

Fidelity: the paper's bound and weights with its signs mended; soft Gumbel labels, and T(x) of the reconstruction, as in
the authors' code. The preset `official` computes what that code does, and `official_v2` what its second version does:
these are three algorithms, so say which one was run. Where labels are enumerated BatchNorm counts all classes alike.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

from torch import Tensor, nn

from labelnoise.config import Value
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import hyper, register
from labelnoise.methods.select import Forgetting, keep_smallest, weighted_mean
from labelnoise.nets.causal_generator import Generative, Generator
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms

CODE: dict[str, Value] = {"distance": "mse", "noise": "uniform", "divide_twice": True}  # in both versions
WEIGHTS = ("reconstruction", "noisy_label", "label_prior", "gaussian_kl")


@register("causal_nl")
@dataclass(frozen=True)
class CausalNL(Generative, Forgetting):
    """Where noise depends on the input and its rate is known; learns T(x): co-teaching - a bound on log P(x, given)."""

    paper: ClassVar[str] = (
        "Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021"
    )
    unjudged: ClassVar[tuple[str, ...]] = ("generator_a", "generator_b")
    learners: ClassVar[tuple[str, ...]] = ("classifier_a", "classifier_b", *unjudged)
    presets: ClassVar = {
        "paper": {},
        "official": {**CODE, "prior_form": "constant", "kl_reduction": "sum"},
        "official_v2": {**CODE, "prior_form": "sample", "first": 1, "elbo": 1e-3, **dict.fromkeys(WEIGHTS, 1.0)},
    }

    reconstruction: float = hyper(0.1, low=0.01, high=1.0, log=True)  # weights of the terms of the bound
    noisy_label: float = hyper(0.1, low=0.01, high=1.0, log=True)
    label_prior: float = hyper(1e-5, low=1e-6, high=1.0, log=True)
    gaussian_kl: float = hyper(0.02, low=0.002, high=1.0, log=True)
    elbo: float = 1.0  # weight of the whole bound beside co-teaching
    divide_twice: bool = False  # the mean over the examples kept once more by their number

    def __post_init__(self) -> None:
        Generative.__post_init__(self)
        Forgetting.__post_init__(self)

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """Two branches of a classifier and generative networks."""
        nets = {f"classifier_{k}": spec.net(spec.classes) for k in "ab"}
        return nets | {f"generator_{k}": self.generator(spec.shape, spec.classes) for k in "ab"}

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """Of each branch what labels (B, K) and z (B, J) are drawn by."""
        return {f"{name}_{k}": each for k in "ab" for name, each in self.drawn(spec, size, rng).items()}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Of each branch, cross-entropy over the other's small losses and the negative bound over all rows."""
        logits = {k: nets[f"classifier_{k}"](batch.x) for k in "ab"}
        losses = {k: cross_entropy(logits[k], batch.y) for k in "ab"}
        small = {k: keep_smallest(losses[k], self.forgotten(ctx)) for k in "ab"}
        kept, found = {"a": small["b"], "b": small["a"]}, {}
        for k in "ab":
            found[k] = self.terms(batch, logits[k], nets[f"generator_{k}"], ctx.draws[f"y_{k}"], ctx.draws[f"z_{k}"])
            found[k]["co_teaching"] = weighted_mean(losses[k], kept[k]) / (kept[k].sum() if self.divide_twice else 1)
        both = {name: found["a"][name] + found["b"][name] for name in found["a"]}
        loss = both["co_teaching"] + self.elbo * sum(getattr(self, name) * both[name] for name in WEIGHTS)
        logs = {name: value.detach() / 2 for name, value in both.items()}
        return Terms(loss, logs, kept={f"classifier_{k}": kept[k] for k in "ab"})

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of the first classifier."""
        return super().log_probs({"net": nets["classifier_a"]}, x, ctx)

    def reconstruct(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Inputs (B, ...) as the first branch sees them, with the predicted label and the mean of z."""
        return cast(Generator, nets["generator_a"]).expected(x, self.log_probs(nets, x, ctx).exp()).reconstruction

    def instance_transition(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """P(given | true = i, x) in row i, (B, K, K), of the first branch."""
        return cast(Generator, nets["generator_a"]).transition(x)
