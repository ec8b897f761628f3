"""An output folder: the setting it belongs to, and for each pack its records, checkpoint, model and closing facts.

out/config.json                     what all its runs have in common: data, noise, network, training
out/searches.json                   what was tried for each method, and what was chosen
out/METHOD-DIGITS/records.jsonl     a line per run and epoch
out/METHOD-DIGITS/finished.json     written last: the pack's runs are finished, and count, once it is there
out/METHOD-DIGITS/details.safetensors, model.safetensors
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from torch import Tensor

from labelnoise.config import digest
from labelnoise.engine import checkpoint
from labelnoise.errors import InputError
from labelnoise.results.record import Record, append, read, rewrite

OWN = {"config.draft", ".lock"}  # may lie in a folder that has just been begun


@dataclass(frozen=True)
class Run:
    """One finished run."""

    identity: str
    config: dict[str, Any]  # `RunConfig.to_dict()`
    noise_rate: float | None  # realised, of its training labels
    failed: tuple[int, int] | None  # epoch and step at which its loss was no longer a number
    records: list[Record]  # in the order of epochs
    place: int  # in its pack
    pack: "Journal"

    @property
    def details(self) -> dict[str, Tensor]:
        """What was measured once, with the weights that noisy validation selects: see `engine.evaluate.details`."""
        tensors, _ = checkpoint.load(self.pack.details)
        return {name: value[self.place] for name, value in tensors.items()}


class Journal:
    """One pack's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records.jsonl"
        self.checkpoint = folder / "checkpoint.safetensors"
        self.details = folder / "details.safetensors"
        self.model = folder / "model.safetensors"
        self._closing = folder / "finished.json"

    @property
    def finished(self) -> bool:
        """Whether this pack needs no more training."""
        return self._closing.exists()

    @property
    def facts(self) -> dict[str, Any]:
        """What was noted when the pack finished."""
        return _read(self._closing, "delete it to run that pack again")

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

    def runs(self) -> list[Run]:
        """The runs of a finished pack."""
        histories: dict[str, list[Record]] = {}
        for record in self.read():
            histories.setdefault(record.run, []).append(record)
        return [
            Run(
                identity=run["run"],
                config=run["config"],
                noise_rate=run["noise_rate"],
                failed=tuple(run["failed"]) if run["failed"] else None,
                records=histories.get(run["run"], []),
                place=place,
                pack=self,
            )
            for place, run in enumerate(self.facts["runs"])
        ]


class Store:
    """An output folder of runs that differ in method and seed only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @contextmanager
    def open(cls, folder: Path, base: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator["Store"]:
        """Take up or begin a folder, and keep other processes out; one that holds something else is left alone."""
        _check(folder, base)
        with _lock(folder):
            _check(folder, base)  # again, for it may have been begun meanwhile
            if not (folder / "config.json").exists():
                _write(folder / "config.json", {"base": base, "data": data})
            yield cls(folder)

    @classmethod
    def read(cls, folder: Path) -> "Store":
        """A folder to look at."""
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder} holds no runs; give the folder that `labelnoise train` names at its end")
        return cls(folder)

    @property
    def facts(self) -> dict[str, Any]:
        """`base`, the config that all runs share, and `data`, what is known of their data."""
        return _read(self.folder / "config.json", "restore it to read these runs")

    @property
    def searches(self) -> dict[str, Any]:
        """By method: `trials`, the identities tried, and `chosen`, one of them."""
        path = self.folder / "searches.json"
        return _read(path, "delete it to search again") if path.exists() else {}

    def note_search(self, method: str, trials: Sequence[str], chosen: str) -> None:
        """Keep what a search has found."""
        _write(self.folder / "searches.json", self.searches | {method: {"trials": list(trials), "chosen": chosen}})

    def journal(self, name: str) -> Journal:
        """The folder of one pack."""
        return Journal(self.folder / name)

    def runs(self) -> dict[str, Run]:
        """All finished runs by identity, pack by pack in the order in which they were finished."""
        packs = [Journal(path.parent) for path in self.folder.glob("*/finished.json")]
        packs.sort(key=lambda pack: (pack.facts["finished"], pack.folder.name))
        return {run.identity: run for pack in packs for run in pack.runs()}


def _lock(folder: Path) -> AbstractContextManager[Any]:
    # The system takes the lock back when the process ends, however it ends.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / ".lock").acquire(blocking=False)
    except Timeout:
        raise InputError(
            f"another process is at work in output folder {folder}; wait for it, or choose another --out"
        ) from None
    except OSError as problem:
        raise InputError(f"output folder {folder} cannot be used ({problem}); choose another --out") from None


def _check(folder: Path, base: Mapping[str, Any]) -> None:
    try:
        if (folder / "config.json").exists():
            theirs = _read(folder / "config.json", "choose another --out")["base"]
            if _changed(theirs, base):
                raise InputError(
                    f"output folder {folder} holds runs on {base['data']['source']} as it was before, "
                    "and it has changed since; choose another --out"
                )
            if other := sorted(key for key in {*theirs, *base} if digest(theirs.get(key)) != digest(base.get(key))):
                raise InputError(
                    f"output folder {folder} holds runs of another config, its {' and '.join(other)} differ; "
                    "choose another --out"
                )
        elif folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - OWN):
            raise InputError(f"output folder {folder} exists and holds something else; choose another --out")
    except (OSError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"output folder {folder} cannot be used ({problem}); choose another --out") from None


def _changed(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    # Whether all is equal but for the content of the data.
    old, new = ({**base, "data": {**base["data"], "fingerprint": ""}} for base in (theirs, ours))
    return digest(old) == digest(new) and digest(theirs) != digest(ours)


def _read(path: Path, advice: str) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise InputError(f"{path} is damaged ({problem}); {advice}") from None
    return facts


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(json.dumps(facts, indent=2, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
