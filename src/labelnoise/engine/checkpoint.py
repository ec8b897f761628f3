"""Checkpoints: one safetensors file with the position as JSON in its header, replaced in one move."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.files import explained, write


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and plain facts; whoever reads sees the old file or the new one, whole."""
    own = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, serialised(own, metadata={"facts": json.dumps(facts)}))


def load(path: Path, advice: str = "delete it to begin anew") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save` wrote; the advice ends the sentence on a file that is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            return {name: file.get_tensor(name) for name in names}, dict(json.loads(file.metadata()["facts"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as problem:
        raise InputError(f"{path} cannot be read ({problem}); {advice}") from None


class Checkpointer:
    """Saves a training now and then, and knows where it stopped."""

    def __init__(self, path: Path, every_seconds: float = 30.0) -> None:
        self.path, self.every_seconds = path, every_seconds
        self.saved = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether the last save is long enough ago."""
        return time.monotonic() - self.saved >= self.every_seconds

    def save(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Replace the checkpoint."""
        save(self.path, tensors, facts)
        self.saved = time.monotonic()

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The checkpoint, if there is one."""
        return load(self.path, "delete it to begin that training anew") if self.path.exists() else None
