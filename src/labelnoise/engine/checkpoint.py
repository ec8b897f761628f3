"""Checkpoints: one safetensors file with the position as JSON in its header, replaced in one move."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.files import FullDiskError, explained, write

QUICK = 1.0  # seconds that a save may take: of larger ones there are fewer, so that they cost no larger share


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and plain facts; whoever reads sees the old file or the new one, whole."""
    own = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    # Where memory is short, safetensors would end the process, and this is an error.
    torch.empty(3 * sum(value.nbytes for value in own.values()), dtype=torch.uint8)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, serialised(own, metadata={"facts": json.dumps(facts)}))


def load(path: Path, advice: str = "delete it to begin anew") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save` wrote; the advice ends the sentence on a file that is damaged."""
    with _opened(path, advice) as file:
        names = list(file.keys())
        return {name: file.get_tensor(name) for name in names}, _facts(file)


def load_facts(path: Path, advice: str = "delete it to begin anew") -> dict[str, Any]:
    """The facts alone, without reading the rest."""
    with _opened(path, advice) as file:
        return _facts(file)


@contextmanager
def _opened(path: Path, advice: str) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as problem:
        raise InputError(f"{path} cannot be read ({problem}); {advice}") from None


def _facts(file: Any) -> dict[str, Any]:
    return dict(json.loads(file.metadata()["facts"]))


class Checkpointer:
    """Saves a training now and then, and knows where it stopped; a full disk is no reason to stop."""

    def __init__(
        self, path: Path, every_seconds: float = 30.0, warn: Callable[[str], None] = lambda sentence: None
    ) -> None:
        self.path, self.every_seconds, self.warn = path, every_seconds, warn
        self.saved, self.took, self.warned = time.monotonic(), 0.0, False

    @property
    def due(self) -> bool:
        """Whether the last save, or attempt at one, is long enough ago."""
        return time.monotonic() - self.saved >= self.every_seconds * max(1.0, self.took / QUICK)

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Replace the checkpoint; where the disk is full the old one stays, which is said once."""
        if any(value.is_cuda for value in tensors.values()):
            torch.cuda.synchronize()  # steps that are under way are no part of saving
        began = time.monotonic()
        try:
            save(self.path, tensors, facts)
        except FullDiskError:
            if not self.warned:
                self.warn(
                    f"no space is left for {self.path}; training goes on, but cannot be taken up from here: free some"
                )
            self.warned = True
        self.saved = time.monotonic()
        self.took = self.saved - began

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The checkpoint, if there is one."""
        return load(self.path, "delete it to begin that training anew") if self.path.exists() else None
