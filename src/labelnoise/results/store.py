"""An output folder: the settings it belongs to, and for each pack its records, checkpoint and closing facts."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelnoise.config import digest
from labelnoise.errors import InputError
from labelnoise.results.record import Record, append, read, rewrite


class Journal:
    """One pack's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records.jsonl"
        self.checkpoint = folder / "checkpoint.safetensors"
        self._closing = folder / "finished.json"

    @property
    def finished(self) -> bool:
        """Whether this pack needs no more training."""
        return self._closing.exists()

    @property
    def facts(self) -> dict[str, Any]:
        """What was noted when the pack finished."""
        try:
            facts: dict[str, Any] = json.loads(self._closing.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as problem:
            raise InputError(f"{self._closing} is damaged ({problem}); delete it to run that pack again") from None
        return facts

    def begin(self, epoch: int) -> None:
        """Keep the records of earlier epochs only: training goes on from there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rewrite(self.records, [record for record in read(self.records) if record.epoch < epoch])

    def read(self) -> list[Record]:
        """All records so far."""
        return read(self.records)

    def write(self, records: Sequence[Record]) -> None:
        """Add an epoch's records."""
        append(self.records, records)

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Close the pack; its checkpoint is no longer needed."""
        _write(self._closing, facts)
        for leftover in (self.checkpoint, *self.folder.glob("*.draft")):
            leftover.unlink(missing_ok=True)


class Store:
    """An output folder that belongs to one set of settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> "Store":
        """Take up or begin a folder; one that holds something else is left alone."""
        config = folder / "config.json"
        try:
            if config.exists():
                if digest(json.loads(config.read_text(encoding="utf-8"))) != digest(settings):
                    raise InputError(f"output folder {folder} holds runs of another config; choose another --out")
            elif folder.exists() and (
                not folder.is_dir() or {path.name for path in folder.iterdir()} - {"config.draft"}
            ):
                raise InputError(f"output folder {folder} exists and holds something else; choose another --out")
            else:
                folder.mkdir(parents=True, exist_ok=True)
                _write(config, settings)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
            raise InputError(f"output folder {folder} cannot be used ({problem}); choose another --out") from None
        return cls(folder)

    def journal(self, name: str) -> Journal:
        """The folder of one pack."""
        return Journal(self.folder / name)


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(json.dumps(facts, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
