"""Co-teaching: two networks, each of which learns from the examples that the other finds easiest.

Fidelity: the mean over the kept examples, where the authors' code divides by their number once more; the share
forgotten grows from epoch 0 to `ramp` - 1, both ends counted, as in that code.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from torch import Tensor, nn

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, hyper, register
from labelnoise.methods.select import forget_rate, keep_smallest, weighted_mean
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("co_teaching")
@dataclass(frozen=True)
class CoTeaching(Method):
    """Strong under heavy noise whose rate is known: small losses are mostly true labels, and two networks err apart."""

    paper: ClassVar[str] = (
        "Han et al., Co-teaching: robust training of deep neural networks with extremely noisy labels, NeurIPS 2018"
    )

    forget: float = hyper(0.2, low=0.0, high=0.9)  # the share left out once the ramp is over: the noise rate
    ramp: int = 10  # epochs

    @property
    def coupled(self) -> bool:
        """Losses are ranked within the batch."""
        return True

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """Two of the same kind, made independently."""
        return {"a": spec.net(spec.classes), "b": spec.net(spec.classes)}

    def informed(self, noise_rate: float) -> Self:
        """Forget as many as are wrong."""
        return replace(self, forget=noise_rate)

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Each network's mean cross-entropy over the other's small losses."""
        loss_a = cross_entropy(nets["a"](batch.x), batch.y)
        loss_b = cross_entropy(nets["b"](batch.x), batch.y)
        rate = forget_rate(self.forget, ctx.epoch, self.ramp)
        keep_a, keep_b = keep_smallest(loss_a, rate), keep_smallest(loss_b, rate)
        return Terms(weighted_mean(loss_a, keep_b) + weighted_mean(loss_b, keep_a), logs={"kept": keep_a.mean()})

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of the first network."""
        logits: Tensor = nets["a"](x)
        return logits.log_softmax(-1)
