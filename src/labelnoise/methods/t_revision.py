"""T-Revision: importance reweighting by an estimated T, then T itself learns a correction together with the network.

Fidelity: the correction is added once, at its own rate, and the rows of T' stay distributions; stages 1 and 2 use the
run's optimiser. The authors' code, preset `official`, leaves T' as it comes out, and adds the correction again for each
example: the i-th of a batch sees T + i · delta, hence the small rate. Its SGD is that of `reweight`, and its epochs are
20 + 200 + 200; the preset has these shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import torch
from torch import Tensor, nn

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.losses.base import log_softmax, picked
from labelnoise.losses.correction import importance_weighted, mixed_log_probs
from labelnoise.methods.base import Method, Stage, check_unused, register
from labelnoise.methods.reweight import OptimiserOf, Reweight, weights
from labelnoise.transition import Quantile
from labelnoise.transition.revision import Project, Revision
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("t_revision")
@dataclass(frozen=True)
class TRevision(Method):
    """For class-dependent noise without sure anchor points: p_y / (p @ T')_y · -log p_y, where T' is learnt as well."""

    paper: ClassVar[str] = "Xia et al., Are anchor points really indispensable in label-noise learning?, NeurIPS 2019"
    presets: ClassVar = {
        "official": {"warm_up": 1 / 21, "revise": 10 / 21, "revision_lr": 5e-7}
        | {"project": "none", "cumulative": True, "optimiser": "official"}
    }

    warm_up: float = 0.3  # shares of the epochs; what the two leave is for reweighting
    revise: float = 0.4
    revision_lr: float = 3e-5
    quantile: Quantile = "auto"
    project: Project = "abs_row"  # |T + delta| over its row sums; none: as it is
    cumulative: bool = False  # the correction is added once more for each example of a batch
    optimiser: OptimiserOf = "run"  # of stages 1 and 2; official: the SGD of public code

    def __post_init__(self) -> None:
        if min(self.warm_up, self.revise) <= 0 or self.warm_up + self.revise >= 1:
            raise InputError(f"warm_up {self.warm_up} and revise {self.revise} must be above 0 and sum to less than 1")
        if self.project not in get_args(Project):
            raise InputError(f"project must be abs_row or none, not {self.project!r}")
        if self.project != "none":
            check_unused(self, "cumulative", "project=none")
        self.stages()  # which know what is no quantile or optimiser

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """The classifier, and the correction of T."""
        return {"net": spec.net(spec.classes), "revision": Revision(spec.classes, self.project)}

    def groups(self) -> dict[str, dict[str, float]]:
        """The correction has a rate of its own."""
        return {"revision": {"lr": self.revision_lr}}

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, reweighting by it, then network and T together."""
        before = Reweight(warm_up=self.warm_up, quantile=self.quantile, optimiser=self.optimiser)
        first, second = (replace(stage, trains=("net",), carry="best") for stage in before.stages())
        second = replace(second, name="reweight", share=1 - self.warm_up - self.revise)
        slow = Optimiser("adam", lr=5e-7, weight_decay=1e-4)
        return (first, second, Stage("revise", self.revise, self, optimiser=slow, schedule=Schedule()))

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean importance-weighted loss; the gradient passes through the weight, the only place where T occurs."""
        logits, y = nets["net"](batch.x), batch.y
        if self.project == "abs_row":
            return Terms(importance_weighted(logits, y, self.transition(nets, ctx)["T"], detach=False).mean())
        log_probs, times = log_softmax(logits), torch.ones_like(y).cumsum(0) if self.cumulative else torch.ones_like(y)
        T = nets["revision"](ctx.aux["T"], times[:, None, None])  # (B, K, K)
        return Terms(-(weights(log_probs, y, T) * picked(log_probs, y)).mean())

    def transition(self, nets: Nets, ctx: Context) -> dict[str, Tensor]:
        """T', the revised one, and what it was before."""
        return {"T": nets["revision"](ctx.aux["T"]), "T_before": ctx.aux["T"]}

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T'), scaled to a distribution, for without a projection the rows of T' are none."""
        return mixed_log_probs(self.log_probs(nets, x, ctx), self.transition(nets, ctx)["T"]).log_softmax(-1)

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> Mapping[str, Tensor]:
        """The weight of each example."""
        return {"weight": weights(self.log_probs(nets, batch.x, ctx), batch.y, self.transition(nets, ctx)["T"])}
