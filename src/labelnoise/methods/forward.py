"""Forward correction: T is estimated from a first network, and a new one learns through it.

Fidelity: the first network is the best on noisy validation; the second starts afresh, as in the authors' code; anchors
are found on a copy of the posteriors and rows normalised, which public code gets wrong.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.correction import forward_corrected, mixed_log_probs
from labelnoise.methods.base import Method, Stage, register
from labelnoise.methods.ce import CE
from labelnoise.transition import Quantile, estimate_anchor
from labelnoise.types import Batch, Context, Nets, Snapshot, Terms


def anchor_matrix(snapshot: Snapshot, quantile: Quantile) -> dict[str, Tensor]:
    """T from the first network's posteriors on the training set."""
    return {"T": estimate_anchor(snapshot.probs, snapshot.labels, quantile=quantile)}


@register("forward")
@dataclass(frozen=True)
class Forward(Method):
    """Consistent where noise depends on the class alone and T is well estimated: -log (p @ T)_y."""

    paper: ClassVar[str] = (
        "Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017"
    )

    warm_up: float = 0.3  # share of the epochs for the first network
    quantile: Quantile = "auto"
    noisy_validation: bool = True  # noisy labels are compared with p @ T rather than with p

    def __post_init__(self) -> None:
        if not 0 < self.warm_up < 1:
            raise InputError(f"warm_up must lie between 0 and 1, not {self.warm_up}")

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, then a new network with the corrected loss."""
        estimate = partial(anchor_matrix, quantile=self.quantile)
        return (
            Stage("warm-up", self.warm_up, CE(), carry="best"),
            Stage("corrected", 1 - self.warm_up, self, before=estimate, restart=("net",)),
        )

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean forward-corrected loss."""
        return Terms(forward_corrected(nets["net"](batch.x), batch.y, ctx.aux["T"]).mean())

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """log(p @ T), or log p where validation is to use that."""
        log_probs = self.log_probs(nets, x, ctx)
        return mixed_log_probs(log_probs, ctx.aux["T"]) if self.noisy_validation and "T" in ctx.aux else log_probs
