"""Generalised cross-entropy, a loss between cross-entropy and mean absolute error.

Fidelity: in log space, without a clip, and untruncated by default, as it is usually compared. Truncation leaves out
examples whose label has a probability of at most k. As in the paper's alternating search the present network chooses
them, here after every epoch from `start` on; public code does so every tenth epoch with the best network so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import picked
from labelnoise.losses.gce import check_q, gce
from labelnoise.methods.base import Method, Stage, check_unused, hyper, register
from labelnoise.types import Batch, Context, Nets, Snapshot, Terms


@register("gce")
@dataclass(frozen=True)
class GCE(Method):
    """Examples that the network finds unlikely count less, (1 - p_y^q) / q: strong where errors are spread evenly."""

    paper: ClassVar[str] = (
        "Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy labels, "
        "NeurIPS 2018"
    )
    presets: ClassVar = {"truncated": {"q": 0.7, "truncation": 0.5, "start": 1 / 3}}

    q: float = hyper(0.7, low=0.05, high=1.0)
    truncation: float = 0.0  # k: labels that the network gives no more than this are left out; 0: none
    start: float = 1 / 3  # share of the epochs before any is left out

    def __post_init__(self) -> None:
        if not (0 <= self.truncation < 1 and 0 < self.start <= 1):
            raise InputError(f"truncation {self.truncation} must be in [0, 1), and start {self.start} in (0, 1]")
        check_q(self.q)
        if not self.truncation:
            check_unused(self, "start", "truncation above 0")

    def stages(self) -> tuple[Stage, ...]:
        """One; with truncation it looks after every epoch which examples to leave out."""
        choose = self._kept if self.truncation else None
        return (Stage("train", 1.0, self, before=choose, refresh=choose),)

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """Mean generalised cross-entropy, or of what it has below that of k over the examples kept."""
        loss = gce(nets["net"](batch.x), batch.y, self.q)
        if not self.truncation:
            return Terms(loss.mean())
        kept = ctx.aux["kept"][batch.rows]
        limit = (1 - self.truncation**self.q) / self.q
        return Terms((kept * (loss - limit)).mean(), kept={"net": kept})

    def _kept(self, snapshot: Snapshot) -> Mapping[str, Tensor]:
        likely = picked(snapshot.probs, snapshot.labels) > self.truncation
        return {"kept": (likely if snapshot.reached(self.start) else torch.ones_like(likely)).to(snapshot.probs)}
