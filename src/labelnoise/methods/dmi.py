"""DMI: the determinant of the joint counts of labels and predictions, which class-dependent noise only scales.

Fidelity: counts are not divided by the batch size, as in the authors' code; a batch that lacks a class has loss 0,
where that code has a constant. The second stage has a small learning rate of its own, in the preset `official` that of
CIFAR-10.
"""

from dataclasses import dataclass
from typing import ClassVar

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.losses.dmi import dmi
from labelnoise.methods.base import Method, Stage, register
from labelnoise.methods.ce import CE
from labelnoise.types import Batch, Context, Nets, Terms


@register("dmi")
@dataclass(frozen=True)
class DMI(Method):
    """For class-dependent noise, few classes and large batches: -log |det Σ_n y_n p_nᵀ| over a batch."""

    paper: ClassVar[str] = (
        "Xu et al., L_DMI: a novel information-theoretic loss function for training deep nets robust to label noise, "
        "NeurIPS 2019"
    )
    presets: ClassVar = {"official": {"warm_up": 0.5, "optimiser": "sgd", "lr": 1e-6}}

    warm_up: float = 0.5  # share of the epochs with cross-entropy, without which there is nothing to hold on to
    optimiser: str = "adam"  # of the second stage; sgd has a momentum of 0.9
    lr: float = 1e-4  # of the second stage

    def __post_init__(self) -> None:
        if not 0 < self.warm_up < 1:
            raise InputError(f"warm_up must lie between 0 and 1, not {self.warm_up}")
        if self.optimiser not in ("adam", "sgd"):
            raise InputError(f"optimiser must be adam or sgd, not {self.optimiser!r}")

    @property
    def coupled(self) -> bool:
        """The counts are those of a whole batch."""
        return True

    def stages(self) -> tuple[Stage, ...]:
        """Cross-entropy, then the determinant, from the best weights so far."""
        slow = Optimiser("adam", lr=self.lr) if self.optimiser == "adam" else Optimiser("sgd", lr=self.lr, momentum=0.9)
        return (
            Stage("warm-up", self.warm_up, CE(), carry="best"),
            Stage("determinant", 1 - self.warm_up, self, optimiser=slow, schedule=Schedule()),
        )

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """The loss of the whole batch."""
        logits = nets["net"](batch.x)
        return Terms(dmi(logits, batch.y, logits.shape[-1]))
