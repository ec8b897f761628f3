"""T-Revision: importance reweighting by an estimated T, then T itself learns a correction together with the network.

Fidelity: the correction is added once, not for every example, at its own rate; stages 1 and 2 use the run's optimiser.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.losses.correction import importance_weighted, mixed_log_probs
from labelnoise.methods.base import Method, Stage, register
from labelnoise.methods.ce import CE
from labelnoise.methods.correction import anchor_matrix
from labelnoise.transition import Quantile
from labelnoise.transition.anchor import check_quantile
from labelnoise.transition.revision import Revision
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@dataclass(frozen=True)
class Reweight(Method):
    """The second stage: cross-entropy times the constant p_y / (p @ T)_y."""

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean importance-weighted loss."""
        return Terms(importance_weighted(nets["net"](batch.x), batch.y, ctx.aux["T"], detach=True).mean())

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T)."""
        return mixed_log_probs(self.log_probs(nets, x, ctx), ctx.aux["T"])


@register("t_revision")
@dataclass(frozen=True)
class TRevision(Method):
    """For class-dependent noise without sure anchor points: p_y / (p @ T')_y · -log p_y, where T' is learnt as well."""

    paper: ClassVar[str] = "Xia et al., Are anchor points really indispensable in label-noise learning?, NeurIPS 2019"

    warm_up: float = 0.3  # shares of the epochs; what the two leave is for reweighting
    revise: float = 0.4
    revision_lr: float = 3e-5
    quantile: Quantile = "auto"

    def __post_init__(self) -> None:
        if min(self.warm_up, self.revise) <= 0 or self.warm_up + self.revise >= 1:
            raise InputError(f"warm_up {self.warm_up} and revise {self.revise} must be above 0 and sum to less than 1")

        check_quantile(self.quantile)

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """The classifier, and the correction of T."""
        return {"net": spec.net(spec.classes), "revision": Revision(spec.classes)}

    def groups(self) -> dict[str, dict[str, float]]:
        """The correction moves faster than the network."""
        return {"revision": {"lr": self.revision_lr}}

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, reweighting by it, then network and T together."""
        reweight, estimate = 1 - self.warm_up - self.revise, partial(anchor_matrix, quantile=self.quantile)
        slow = Optimiser("adam", lr=5e-7, weight_decay=1e-4)
        return (
            Stage("warm-up", self.warm_up, CE(), trains=("net",), carry="best"),
            Stage("reweight", reweight, Reweight(), trains=("net",), before=estimate, carry="best"),
            Stage("revise", self.revise, self, optimiser=slow, schedule=Schedule()),
        )

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean importance-weighted loss; the gradient passes through the weight, the only place where T occurs."""
        T = self.transition(nets, ctx)["T"]
        return Terms(importance_weighted(nets["net"](batch.x), batch.y, T, detach=False).mean())

    def transition(self, nets: Nets, ctx: Context) -> dict[str, Tensor]:
        """T', the revised one."""
        return {"T": nets["revision"](ctx.aux["T"])}

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T')."""
        return mixed_log_probs(self.log_probs(nets, x, ctx), self.transition(nets, ctx)["T"])
