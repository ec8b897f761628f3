"""Timing: some steps to warm up, then blocks of which the median counts; the device is waited for at their ends."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from labelnoise.data.rows import counted
from labelnoise.engine.observer import EpochResult

BLOCKS = 7
WARM = {"cpu": 2, "cuda": 20}  # steps; on a GPU the first ones are compiled and recorded
PROBE = {"cpu": 1, "cuda": 5}  # steps that tell how long a block must be


class EnoughError(Exception):
    """A training is left, because it has been timed."""


def wait_for(device: torch.device) -> None:
    """Until everything that was asked of the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def in_turns(works: Sequence[Callable[[], object]], device: torch.device, seconds: float) -> list[float]:
    """Seconds of each piece of work, by the median: they take turns for so long, after one round that warms up."""
    taken: list[list[float]] = [[] for _ in works]
    until = float("inf")
    while len(taken[0]) < 4 or time.perf_counter() < until:
        for work, found in zip(works, taken, strict=True):
            wait_for(device)
            began = time.perf_counter()
            work()
            wait_for(device)
            found.append(time.perf_counter() - began)
        until = min(until, time.perf_counter() + seconds)  # from the end of the first round
    return [median(found[1:]) for found in taken]


class Blocks:
    """An observer that times blocks of steps within epochs, never an evaluation, and then leaves the training.

    `seconds` is about what all blocks together may take; where a single step takes longer, one step is the block.
    """

    def __init__(
        self, device: torch.device, seconds: float, now: Callable[[], float] = time.perf_counter, blocks: int = BLOCKS
    ) -> None:
        self.device, self.seconds, self.now, self.blocks = device, seconds, now, blocks
        self.length = 0  # steps of a block, once known
        self.taken: list[float] = []  # seconds of each block
        self._done, self._epoch, self._left, self._began = 0, -1, 0, 0.0

    @property
    def step_seconds(self) -> float:
        """Of one step, by the median block."""
        return median(self.taken) / self.length

    @property
    def note(self) -> str:
        """How little was measured, where it was little."""
        return "" if len(self.taken) >= 3 else f"from {counted(len(self.taken) * self.length, 'step')} only"

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Begin or end a block, or leave."""
        self._done += 1
        if self._left and epoch == self._epoch:
            self._left -= 1
            if not self._left:
                self._end(steps)
        if not self._left and self._done >= WARM[self.device.type]:
            self._begin(epoch, steps - step - 1)

    def judged(self, epoch: int, share: float) -> None:
        """Nothing."""

    def finished_epoch(self, result: EpochResult) -> None:
        """Nothing."""

    def _moment(self) -> float:
        wait_for(self.device)
        return self.now()

    def _begin(self, epoch: int, remaining: int) -> None:
        wanted = self.length or PROBE[self.device.type]
        if wanted <= remaining:
            self._epoch, self._left, self._began = epoch, wanted, self._moment()

    def _end(self, steps: int) -> None:
        took, probe = self._moment() - self._began, PROBE[self.device.type]
        if self.length:
            self.taken.append(took)
        elif took > self.seconds / 2:  # the probe is all there is time for
            self.length, self.taken = probe, [took]
            raise EnoughError
        else:
            wished = round(self.seconds / self.blocks / (took / probe))
            self.length = max(1, min(wished, steps // 3))
        if len(self.taken) >= self.blocks:
            raise EnoughError
