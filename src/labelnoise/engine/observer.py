"""What a training tells whoever looks on."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class EpochResult:
    """What one epoch gave: measures of the runs that are still healthy, and where others failed."""

    stage: str
    epoch: int
    measures: dict[int, dict[str, float]]  # by run
    failed: dict[int, int]  # run -> step of this epoch at which its loss was no longer finite


class Observer(Protocol):
    """Who wants to know how a training goes."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""

    def judged(self, epoch: int, share: float) -> None:
        """So much of the evaluation at the end of an epoch is done, 1 in the end."""

    def finished_epoch(self, result: EpochResult) -> None:
        """An epoch is done and evaluated."""
