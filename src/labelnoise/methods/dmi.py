"""DMI: the determinant of the joint counts of labels and predictions, which class-dependent noise only scales.

Fidelity: counts are not divided by the batch size, as in the authors' code; a batch that lacks a class has loss 0,
where that code has a constant, and batches that mostly do are refused. The second stage has a small learning rate of
its own, in the preset `official` that of CIFAR-10, whose batches had 256 rows.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.losses.dmi import dmi
from labelnoise.methods.base import Method, Stage, register
from labelnoise.methods.ce import CE
from labelnoise.types import Batch, Context, DataSpec, Nets, Terms


@register("dmi")
@dataclass(frozen=True)
class DMI(Method):
    """For class-dependent noise, few classes and large batches: -log |det Σ_n y_n p_nᵀ| over a batch."""

    paper: ClassVar[str] = (
        "Xu et al., L_DMI: a novel information-theoretic loss function for training deep nets robust to label noise, "
        "NeurIPS 2019"
    )
    presets: ClassVar = {"official": {"warm_up": 0.55, "optimiser": "sgd", "lr": 1e-6, "weight_decay": 1e-4}}

    warm_up: float = 0.5  # share of the epochs with cross-entropy, without which there is nothing to hold on to
    optimiser: Literal["adam", "sgd"] = "adam"  # of the second stage; sgd has a momentum of 0.9
    lr: float = 1e-4  # of the second stage
    weight_decay: float = 0.0  # of the second stage

    def __post_init__(self) -> None:
        if not 0 < self.warm_up < 1:
            raise InputError(f"warm_up must lie between 0 and 1, not {self.warm_up}")
        if self.optimiser not in ("adam", "sgd"):
            raise InputError(f"optimiser must be adam or sgd, not {self.optimiser!r}")

    @property
    def coupled(self) -> bool:
        """The counts are those of a whole batch."""
        return True

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """One network, where batches are large enough to have every class most of the time."""
        lacking = spec.classes * math.exp(-spec.batch / spec.classes)  # classes of a batch, on average
        if spec.batch and lacking > math.log(2):
            needed = math.ceil(spec.classes * math.log(spec.classes / math.log(2)))
            raise InputError(
                f"dmi learns nothing from a batch that lacks a class, and most of {spec.batch} rows lack one of "
                f"{spec.classes}; set train.batch to at least {needed}, better {10 * spec.classes}"
            )
        return super().networks(spec)

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy, then the determinant, from the best weights so far."""
        momentum = 0.9 if self.optimiser == "sgd" else 0.0
        slow = Optimiser(self.optimiser, lr=self.lr, weight_decay=self.weight_decay, momentum=momentum)
        return (
            Stage("warm-up", self.warm_up, CE(), carry="best"),
            Stage("determinant", 1 - self.warm_up, self, optimiser=slow, schedule=Schedule()),
        )

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """The loss of the whole batch."""
        logits = nets["net"](batch.x)
        return Terms(dmi(logits, batch.y, logits.shape[-1]))
