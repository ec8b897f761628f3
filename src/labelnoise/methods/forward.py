"""Forward correction: the loss is that of the given labels as T makes them from the predicted true ones.

Fidelity: the first network is the best on noisy validation; the second starts afresh, as in the authors' code; anchors
are found on a copy of the posteriors and rows normalised, which public code gets wrong. T mixes probabilities, also in
the preset `smoothing`, the use of Lukasik et al. 2020, whose text has it mix logits.
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.losses.correction import forward_corrected
from labelnoise.methods.base import register
from labelnoise.methods.correction import Corrected
from labelnoise.types import Batch, Context, Nets, Terms


@register("forward")
@dataclass(frozen=True)
class Forward(Corrected):
    """Consistent where noise depends on the class alone and T is well estimated: -log (p @ T)_y."""

    paper: ClassVar[str] = (
        "Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017"
    )

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean forward-corrected loss."""
        return Terms(forward_corrected(nets["net"](batch.x), batch.y, ctx.aux["T"]).mean())
