"""T-Revision: importance reweighting by an estimated T, then T itself learns a correction together with the network.

Fidelity: the correction is added once (the authors' code adds it again for every example of a batch), reaches the
gradient through the weight, has a learning rate of its own to make up for that, and keeps T stochastic as
|T + delta| over its row sums.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from labelnoise.config import Optimiser, Schedule
from labelnoise.losses.correction import importance_weighted, mixed_log_probs
from labelnoise.methods.base import Method, Stage, register
from labelnoise.methods.ce import CE
from labelnoise.transition import Quantile, estimate_anchor
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms


class Revision(nn.Module):
    """T with a learnt correction that starts at zero."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.delta = nn.Parameter(torch.zeros(classes, classes))

    def forward(self, T: Tensor) -> Tensor:
        """The revised T, row-stochastic."""
        rows = (T + self.delta).abs()
        return rows / rows.sum(-1, keepdim=True)


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

    def networks(self, spec: DataSpec) -> dict[str, nn.Module]:
        """The classifier, and the correction of T."""
        return {"net": spec.net(spec.classes), "revision": Revision(spec.classes)}

    def groups(self) -> dict[str, dict[str, float]]:
        """The correction moves faster than the network."""
        return {"revision": {"lr": self.revision_lr}}

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, reweighting by it, then network and T together."""
        reweight, slow = 1 - self.warm_up - self.revise, Optimiser("adam", lr=5e-7, weight_decay=1e-4)
        return (
            Stage("warm-up", self.warm_up, CE(), trains=("net",), carry="best"),
            Stage("reweight", reweight, Reweight(), trains=("net",), before=self.estimate, carry="best"),
            Stage("revise", self.revise, self, optimiser=slow, schedule=Schedule()),
        )

    def estimate(self, snapshot: Snapshot) -> dict[str, Tensor]:
        """T from the first network's posteriors on the training set."""
        return {"T": estimate_anchor(snapshot.probs, snapshot.labels, quantile=self.quantile)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean importance-weighted loss; the gradient passes through the weight, the only place where T occurs."""
        revised = nets["revision"](ctx.aux["T"])
        return Terms(importance_weighted(nets["net"](batch.x), batch.y, revised, detach=False).mean())

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T'), with the revised T'."""
        return mixed_log_probs(self.log_probs(nets, x, ctx), nets["revision"](ctx.aux["T"]))
