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

ADVICE = "delete it to begin that training anew"
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


def of_runs(
    tensors: Mapping[str, Tensor], facts: Mapping[str, Any], runs: range
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What a training has saved of some of its runs, as if they had been alone; time is shared.

    All tensors have the run axis first, but for what single runs have given of a step that was left: done|RUN|NAME.
    """
    own = {name: value[runs.start : runs.stop] for name, value in tensors.items() if not name.startswith("done|")}
    for name, value in tensors.items():
        if name.startswith("done|") and int((words := name.split("|", 2))[1]) in runs:
            own[f"done|{int(words[1]) - runs.start}|{words[2]}"] = value
    failed = [(run - runs.start, place) for run, place in facts["failed"] if run in runs]
    return own, {**facts, "failed": failed, "seconds": facts["seconds"] * len(runs) / len(tensors["first_bad"])}


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
        return load(self.path, ADVICE) if self.path.exists() else None

    def facts(self) -> dict[str, Any]:
        """Its facts alone; none without a checkpoint."""
        return load_facts(self.path, ADVICE) if self.path.exists() else {}
