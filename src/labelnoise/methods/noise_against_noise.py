"""Noise against noise: fresh normal noise on every label keeps a network from settling on wrong ones.

Fidelity: plain stochastic label noise by default. Label correction is that of the authors' code: in the last epochs
labels are no longer disturbed, and the larger an example's loss, the less its prediction replaces its label. That code
takes losses under the labels of the epoch before; here they are those of the given labels. The preset `official` has
that code's settings for CIFAR-10 with uneven noise; its running mean needs some thousand steps. The preset `tensorflow`
has the gradient with which Englesson et al., Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023,
compare it; a sigma that suits one gradient does not suit the other.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import picked
from labelnoise.losses.stochastic_labels import Gradient, check_settings, stochastic_cross_entropy
from labelnoise.methods.base import Method, Stage, check_unused, hyper, register
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms


@register("noise_against_noise")
@dataclass(frozen=True)
class NoiseAgainstNoise(Method):
    """A cheap remedy against memorising, with one number to set: -Σ_k ỹ_k log p_k, ỹ = y + sigma ε, ε ~ N(0, 1)."""

    paper: ClassVar[str] = (
        "Chen et al., Noise against noise: stochastic label noise helps combat inherent label noise, ICLR 2021"
    )
    presets: ClassVar = {
        "official": {"sigma": 0.5, "average": 0.999, "correction": 1 / 6},
        "tensorflow": {"gradient": "tf"},
    }

    sigma: float = hyper(0.5, low=0.05, high=1.0)
    gradient: Gradient = "true"
    average: float = 0.0  # decay, per step, of a running mean of the weights, which then predicts; 0: there is none
    correction: float = 0.0  # share of the epochs, the last ones, with corrected labels
    soft: bool = False  # labels are corrected towards predicted probabilities, as that code does on Clothing1M

    def __post_init__(self) -> None:
        check_settings(self.sigma, self.gradient)
        if not (0 <= self.correction < 1 and 0 <= self.average < 1):
            raise InputError(f"correction {self.correction} and average {self.average} must be in [0, 1)")
        if not self.correction:
            check_unused(self, "soft", "correction above 0")

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The network and, if asked for, its running mean, which begins as it does."""
        net = spec.net(spec.classes)
        return {"net": net, "mean": deepcopy(net)} if self.average else {"net": net}

    def averages(self) -> Mapping[str, tuple[str, float]]:
        """The mean follows the network."""
        return {"mean": ("net", self.average)} if self.average else {}

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """The noise on the labels, (B, K)."""
        return {"noise": rng.normal(size, spec.classes)}

    def stages(self) -> tuple[Stage, ...]:
        """One; with correction it looks after every epoch what to teach in the next."""
        teach = self._labels if self.correction else None
        return (Stage("train", 1.0, self, before=teach, refresh=teach),)

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy with disturbed or, in the end, corrected labels."""
        label, noise = batch.y, ctx.draws["noise"]
        if self.correction:
            label, noise = ctx.aux["labels"][batch.rows], ctx.aux["disturbed"] * noise
        return Terms(stochastic_cross_entropy(nets["net"](batch.x), label, noise, self.sigma, self.gradient).mean())

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of the mean, where there is one."""
        return super().log_probs({"net": nets["mean"]} if self.average else nets, x, ctx)

    def _labels(self, snapshot: Snapshot) -> Mapping[str, Tensor]:
        probs, classes = snapshot.probs, snapshot.probs.shape[-1]
        given, guess = (F.one_hot(each, classes).to(probs) for each in (snapshot.labels, probs.argmax(-1)))
        if not snapshot.reached(1 - self.correction):
            return {"labels": given, "disturbed": probs.new_ones(())}
        loss = -picked(probs, snapshot.labels).clamp(min=1e-30).log()
        trust = ((loss - loss.min()) / (loss.max() - loss.min()).clamp(min=1e-30)).unsqueeze(-1)
        labels = trust * given + (1 - trust) * (probs if self.soft else guess)
        return {"labels": labels, "disturbed": probs.new_zeros(())}
