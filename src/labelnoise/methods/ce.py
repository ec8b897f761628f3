"""Cross-entropy on the given labels, as if they were true: the baseline of every comparison."""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods.base import Method, register
from labelnoise.types import Batch, Context, Nets, Terms


@register("ce")
@dataclass(frozen=True)
class CE(Method):
    """Plain training, -log p_y: hard to beat with few wrong labels, and memorises many."""

    paper: ClassVar[str] = "the baseline, maximum likelihood"

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean cross-entropy."""
        return Terms(cross_entropy(nets["net"](batch.x), batch.y).mean())
