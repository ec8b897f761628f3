"""How long work shows itself: a bar with time left on a terminal, plain lines when piped, nothing when quiet."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from labelnoise.data.rows import counted
from labelnoise.sweep.run import Display

EVERY_SECONDS = 30.0  # between plain lines
STEPS = 0.75  # share of an epoch's work; evaluation has the rest, for it goes over as many rows in a third of the time


class Terminal(Display):
    """Shows packs one after the other; use as a context manager."""

    def __init__(self, console: Console, *, quiet: bool = False, errors: Console | None = None) -> None:
        self.console, self.quiet, self.errors = console, quiet, errors or Console(stderr=True)
        self.lively = console.is_terminal and not quiet
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
        self.open = False  # whether a pack is under way
        self.bars = Progress(
            *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not self.lively
        )

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def expect(self, packs: int) -> None:
        """So many packs come now."""
        self.packs, self.pack = packs, 0

    def begin(self, name: str, runs: int, epochs: int, done: int) -> None:
        """A pack of runs starts, or goes on after so many epochs."""
        self.pack, self.open = self.pack + 1, True
        self.name, self.epochs, self.done = f"{self.pack}/{self.packs} {name} × {runs}", epochs, done
        self.began = self.said = time.perf_counter()
        self.first: tuple[float, float] | None = None  # when, and at how many epochs, the first step was done
        if done:
            self.say(f"{self.name}: goes on from epoch {done + 1}")
        self.bar = self.bars.add_task(f"{self.name:<26}", total=epochs, completed=done)

    def tick(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""
        self._show(epoch, STEPS * (step + 1) / steps)

    def judge(self, epoch: int, share: float) -> None:
        """So much of an epoch's evaluation is done."""
        self._show(epoch, STEPS + (1 - STEPS) * share)

    def _show(self, epoch: int, share: float) -> None:
        now, done = time.perf_counter(), epoch + share
        self.first = self.first or (now, done)
        if self.lively:
            self.bars.update(self.bar, completed=done)
        elif now - self.said >= EVERY_SECONDS:
            self.said = now
            self.say(f"{self.name}: epoch {epoch + 1} of {self.epochs}{self._left(now, done)}")

    def _left(self, now: float, done: float) -> str:
        # by the pace since the first step, for that one may wait long for a compiler
        since, from_there = self.first or (now, done)
        if done == from_there:
            return ""
        return f", about {_duration((now - since) / (done - from_there) * (self.epochs - done))} left"

    def end(self, epochs: int) -> None:
        """The pack is done after so many epochs."""
        self.open = False
        if not self.lively:
            spent = _duration(time.perf_counter() - self.began)
            self.say(f"{self.name}: {counted(epochs - self.done, 'epoch')} in {spent}")

    def give_up(self, instead: int) -> None:
        """The pack is left, and so many come in its place."""
        self.packs += instead - 1
        if self.open:
            self.pack, self.open = self.pack - 1, False
            self.bars.remove_task(self.bar)

    def say(self, sentence: str) -> None:
        """One line, whatever else is shown."""
        if not self.quiet:
            self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def warn(self, sentence: str) -> None:
        """One line that is shown even when quiet, then among the errors."""
        if self.quiet:
            self.errors.print(sentence, highlight=False, markup=False, soft_wrap=True)
        else:
            self.say(sentence)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
