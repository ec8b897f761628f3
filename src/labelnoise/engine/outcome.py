"""What a device is still working on."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch

Result = TypeVar("Result")


class Outcome(Generic[Result]):
    """A result that may come later; what it is made of is kept alive until someone waits for it."""

    def __init__(self, result: Result, event: Any = None, inputs: Any = None) -> None:
        self._result, self._event, self._inputs = result, event, inputs

    def seen(self, view: Callable[[Result], Result]) -> "Outcome[Result]":
        """The same looked at otherwise, which needs no work of the device."""
        return Outcome(view(self._result), self._event, self._inputs)

    def get(self) -> Result:
        """The result: what the caller asks of the device from now on comes after it."""
        if self._event is not None:
            torch.cuda.current_stream().wait_event(self._event)
        self._event = self._inputs = None
        return self._result
