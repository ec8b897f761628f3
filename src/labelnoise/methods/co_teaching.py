"""Co-teaching: two networks, each of which learns from the examples that the other finds easiest.

Fidelity: the mean over the kept examples; the share forgotten grows from epoch 0 to `ramp` - 1, both ends counted. The
authors' code, preset `official`, divides by their number once more, which Adam hardly feels, and begins the ramp at its
second value; its Adam with a late beta1 and linear decay is `train.schedule`. The paper's ramp is `form=paper`. With
`rate=estimated` both networks first learn by cross-entropy, the first one's anchor points give T, and both start anew.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import register
from labelnoise.methods.select import Forgetting, keep_smallest, weighted_mean
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("co_teaching")
@dataclass(frozen=True)
class CoTeaching(Forgetting):
    """Strong under heavy noise whose rate is known: small losses are mostly true labels, and two networks err apart."""

    paper: ClassVar[str] = (
        "Han et al., Co-teaching: robust training of deep neural networks with extremely noisy labels, NeurIPS 2018"
    )
    learners: ClassVar[tuple[str, ...]] = ("a", "b")
    presets: ClassVar = {"paper": {"form": "paper"}, "official": {"first": 1, "divide_twice": True}}

    divide_twice: bool = False  # the mean once more by the number of examples kept

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """Two of the same kind, made independently."""
        return {name: spec.net(spec.classes) for name in self.learners}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Each network's mean cross-entropy over the other's small losses."""
        losses = {name: cross_entropy(nets[name](batch.x), batch.y) for name in self.learners}
        small = {name: keep_smallest(loss, self.forgotten(ctx)) for name, loss in losses.items()}
        kept = {"a": small["b"], "b": small["a"]}
        loss = weighted_mean(losses["a"], kept["a"]) + weighted_mean(losses["b"], kept["b"])
        return Terms(loss / kept["a"].sum() if self.divide_twice else loss, kept=kept)  # both keep as many

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Those of the first network."""
        logits: Tensor = nets["a"](x)
        return logits.log_softmax(-1)
