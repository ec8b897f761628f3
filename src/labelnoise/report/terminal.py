"""How long work shows itself: a bar with time left on a terminal, plain lines when piped, nothing when quiet."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Display:
    """Shows packs one after the other; use as a context manager."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self.console, self.quiet = console, quiet
        self.lively = console.is_terminal and not quiet
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
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

    def begin(self, name: str, runs: int, epochs: int) -> None:
        """A pack of runs starts."""
        self.name, self.epochs, self.began = f"{name} × {runs}", epochs, time.perf_counter()
        self.bar = self.bars.add_task(f"{self.name:<22}", total=epochs)

    def tick(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""
        if self.lively and step + 1 == steps:
            self.bars.update(self.bar, completed=epoch + 1)

    def end(self) -> None:
        """The pack is done."""
        if not self.lively:
            seconds = time.perf_counter() - self.began
            self.say(f"{self.name}: {self.epochs} epochs in {seconds:.1f} s")

    def say(self, sentence: str) -> None:
        """One line, whatever else is shown."""
        if not self.quiet:
            self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)
