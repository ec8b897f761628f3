"""Leaving a training in good order: Ctrl-C and SIGTERM become a question that it asks itself between two steps."""

import signal
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class InterruptError(KeyboardInterrupt):
    """A training has been left, and can be taken up again, because a signal asked for it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Interrupt:
    """Inside this context a first signal is noted, a second one acts as it always does.

    Outside the main thread Python hears no signals, and nothing is changed.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        except ValueError:  # not the main thread
            self._before = {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self.number is not None

    def check(self) -> None:
        """Raise where a signal has come."""
        if self.number is not None:
            raise InterruptError(self.number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
