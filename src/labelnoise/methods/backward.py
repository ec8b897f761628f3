"""Backward correction: losses of all classes are weighed by T⁻¹, so that their mean is that of clean labels.

Fidelity: no clipping of probabilities, for the loss is computed in log space; a matrix that is close to one without an
inverse has a pseudo-inverse taken. The loss is unbounded below, and networks find that out: the remedy of Kiryo et al.
2017, which the papers only cite, is on. The preset `paper` does without.
"""

from dataclasses import dataclass
from typing import ClassVar, get_args

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.backward import Fix, backward_corrected, non_negative
from labelnoise.methods.base import register
from labelnoise.methods.correction import Corrected, bounded_inverse
from labelnoise.types import Batch, Context, Nets, Snapshot, Terms


@register("backward")
@dataclass(frozen=True)
class Backward(Corrected):
    """Unbiased where T is right, at the price of a larger variance: Σ_k T⁻¹[y, k] · -log p_k."""

    paper: ClassVar[str] = (
        "Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017"
    )
    presets: ClassVar = {**Corrected.presets, "paper": {"fix": "none"}}

    fix: Fix = "negate"  # a batch mean below 0 is stepped on in reverse; clamp: not at all; none: as it is

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fix not in get_args(Fix):
            raise InputError(f"fix must be none, clamp or negate, not {self.fix!r}")

    def estimate(self, snapshot: Snapshot) -> dict[str, Tensor]:
        """T and its inverse, for `ctx.aux`."""
        T = super().estimate(snapshot)["T"]
        return {"T": T, "inverse": bounded_inverse(T)}

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean backward-corrected loss."""
        mean = backward_corrected(nets["net"](batch.x), batch.y, ctx.aux["inverse"]).mean()
        return Terms(non_negative(mean, self.fix), logs={"unfixed": mean.detach()} if self.fix != "none" else {})
