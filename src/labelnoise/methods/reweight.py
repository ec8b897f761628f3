"""Importance reweighting: cross-entropy in which a label counts as much as it is likely to be the true one.

Fidelity: the weight is a constant to the gradient, as in public code. The network goes on from the first one's weights,
the best on noisy validation, and does not start afresh. Public code's SGD (0.01, momentum 0.9, weight decay 1e-4, a
tenth at epochs 40 and 80 of the stage) and its 20 + 200 epochs are the preset `official`, without its drops one epoch
too early.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from torch import Tensor

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.losses.base import picked
from labelnoise.losses.correction import importance_weighted
from labelnoise.methods.base import Stage, register
from labelnoise.methods.correction import Corrected
from labelnoise.types import Batch, Context, Nets, Terms

OptimiserOf = Literal["run", "official"]
FIRST = Optimiser("sgd", lr=0.01, weight_decay=1e-4)
THEN = replace(FIRST, momentum=0.9)
DROPS = Schedule("step", (40, 80))
LEAST = 1e-12  # that the probability of a given label is taken for


def weights(log_probs: Tensor, y: Tensor, T: Tensor) -> Tensor:
    """p_y / (p @ T)_y of each example, (B,), from log p (B, K) and one T (K, K), or one each (B, K, K)."""
    probs = log_probs.exp()
    given = (probs.unsqueeze(-1) * T).sum(-2)  # (B, K)
    return picked(probs, y) / picked(given, y).clamp(min=LEAST)


@register("reweight")
@dataclass(frozen=True)
class Reweight(Corrected):
    """As `forward`, with a loss that is unbiased where T and p are right: p_y / (p @ T)_y · -log p_y."""

    paper: ClassVar[str] = (
        "Liu and Tao, Classification with noisy labels by importance reweighting, TPAMI 2016; with T as in Xia et al., "
        "NeurIPS 2019"
    )
    presets: ClassVar = {"official": {"optimiser": "official", "warm_up": 20 / 220}}

    optimiser: OptimiserOf = "run"  # or official: the SGD of public code

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimiser not in get_args(OptimiserOf):
            raise InputError(f"optimiser must be run or official, not {self.optimiser!r}")

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy to estimate T, then the weighted loss on the same network; that alone where T is known."""
        stages = tuple(replace(stage, restart=()) for stage in super().stages())
        if self.optimiser == "run":
            return stages
        first = (replace(stage, optimiser=FIRST, schedule=Schedule()) for stage in stages[:-1])
        return (*first, replace(stages[-1], optimiser=THEN, schedule=DROPS))

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean importance-weighted loss."""
        return Terms(importance_weighted(nets["net"](batch.x), batch.y, ctx.aux["T"], detach=True).mean())

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> Mapping[str, Tensor]:
        """The weight of each example."""
        return {"weight": weights(self.log_probs(nets, batch.x, ctx), batch.y, ctx.aux["T"])}
