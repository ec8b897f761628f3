"""MentorNet: a network that learns from the examples, or by the weights, that a mentor gives it.

Fidelity: `self_paced` is what papers compare with: the small losses of the network's own batch. `quantile` is the
authors' self-paced curriculum: losses up to a running mean (decay 0.5) of their (1 - forget) quantile count, in a sum
over the size of the batch; that mean does not begin at 0, and weight decay is not scaled. Their 70th percentile is the
preset `official`. `learnt` weighs by a small network of the loss, the loss above that level, label and progress: an MLP
for their LSTM. Theirs learns from labels known to be right or wrong. Without such, this one learns at every step to
tell whether the present prediction is the given label; examples count by the confidence of the prediction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelnoise.errors import InputError
from labelnoise.losses.base import log_softmax, picked, widened
from labelnoise.methods.base import check_unused, register
from labelnoise.methods.select import Forgetting, keep_smallest, largest_kept, self_paced, weighted_mean
from labelnoise.nets.mentor import Level, MeanLevel, Mentor
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms

MentorName = Literal["self_paced", "quantile", "learnt"]
DECAY = 0.5


@register("mentor_net")
@dataclass(frozen=True)
class MentorNet(Forgetting):
    """Half the price of co-teaching where the noise rate is known: CE on the examples that the network finds easy."""

    paper: ClassVar[str] = (
        "Jiang et al., MentorNet: learning data-driven curriculum for very deep neural networks on corrupted labels, "
        "ICML 2018"
    )
    presets: ClassVar = {"official": {"mentor": "quantile", "forget": 0.3, "ramp": 0}}

    mentor: MentorName = "self_paced"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mentor not in get_args(MentorName):
            raise InputError(f"mentor must be {', '.join(get_args(MentorName))}, not {self.mentor!r}")
        if self.mentor != "self_paced":
            check_unused(self, "rate", "mentor=self_paced")

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """The one that predicts and, where the mentor needs them, a level of losses, its mean, the one that weighs."""
        levels = {"level": Level(), "mean": MeanLevel()} if self.mentor != "self_paced" else {}
        mentor = {"mentor": Mentor(spec.classes)} if self.mentor == "learnt" else {}
        return {"net": spec.net(spec.classes), **levels, **mentor}

    def averages(self) -> Mapping[str, tuple[str, float]]:
        """The level's mean."""
        return {"mean": ("level", DECAY)} if self.mentor != "self_paced" else {}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy of the examples as they are weighed, and what a learnt mentor learns."""
        log_probs, y = log_softmax(nets["net"](batch.x)), batch.y
        loss, rate = -picked(log_probs, y), self.forgotten(ctx)
        if self.mentor == "self_paced":
            kept = keep_smallest(loss, rate)
            return Terms(weighted_mean(loss, kept), kept={"net": kept})
        level = nets["mean"](nets["level"](largest_kept(loss, rate)), DECAY)
        if self.mentor == "quantile":
            kept = self_paced(loss, level)
            return Terms((kept * loss).mean(), kept={"net": kept})
        logits = widened(nets["mentor"](loss.detach(), level, y, ctx.progress))
        confidence, predicted = log_probs.detach().exp().max(-1)
        learnt = binary_cross_entropy_with_logits(logits, (predicted == y).to(logits.dtype), reduction="none")
        kept = logits.detach().sigmoid()
        return Terms((kept * loss).mean() + weighted_mean(learnt, confidence), kept={"net": kept})

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> Mapping[str, Tensor]:
        """The weight of each example in the end; self-paced, among the rows that are looked at together."""
        loss = -picked(self.log_probs(nets, batch.x, ctx), batch.y)
        if self.mentor == "self_paced":
            return {"weight": keep_smallest(loss, self.forget if self.rate == "given" else ctx.aux["rate"])}
        level = nets["mean"](loss)  # (B,), all the same
        if self.mentor == "quantile":
            return {"weight": self_paced(loss, level)}
        return {"weight": nets["mentor"](loss, level, batch.y, torch.ones_like(loss)).sigmoid()}
