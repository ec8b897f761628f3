"""Generalised cross-entropy, a loss between cross-entropy and mean absolute error.

Fidelity: without the paper's truncation, as it is usually compared; in log space, without a clip.
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.losses.gce import gce
from labelnoise.methods.base import Method, hyper, register
from labelnoise.types import Batch, Context, Nets, Terms


@register("gce")
@dataclass(frozen=True)
class GCE(Method):
    """Examples that the network finds unlikely count less, (1 - p_y^q) / q: strong where errors are spread evenly."""

    paper: ClassVar[str] = (
        "Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy labels, "
        "NeurIPS 2018"
    )

    q: float = hyper(0.7, low=0.05, high=1.0)

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean generalised cross-entropy."""
        return Terms(gce(nets["net"](batch.x), batch.y, self.q).mean())
