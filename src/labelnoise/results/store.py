"""An output folder: the setting it belongs to, and for each pack its records, checkpoint, model and closing facts.

out/config.json                     what all its runs have in common: data, noise, network, training
out/compared.json                   the runs that tables show, and which of them the latest command has asked for
out/searches.json                   what was tried for each method, and what was chosen
out/METHOD-DIGITS/records.jsonl     a line per run and epoch
out/METHOD-DIGITS/finished.json     written last: the pack's runs are finished, and count, once it is there
out/METHOD-DIGITS/details.safetensors, model.safetensors
out/METHOD-DIGITS/halved            the pack did not fit in memory: its halves are packs of their own
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from torch import Tensor

from labelnoise.config import digest, essential
from labelnoise.engine import checkpoint
from labelnoise.errors import InputError
from labelnoise.files import discard_drafts, explained, write
from labelnoise.results.facts import NUMBER, fits, read_facts, run_again, write_facts
from labelnoise.results.record import Record, append, read, rewrite

VARIOUS = "various"  # the noise of a folder whose runs have several
SETTING = {
    "base": {"noise": str, "net": {"name": str}, "train": {"epochs": int, "batch": int}},
    "data": {
        "name": str,
        "rows": int,
        "shape": [int],
        "classes": [str],
        "parts": {"train": int, "validation": int, "test": int},
        "notes": [str],
        "truth": str,
        "told_rate": NUMBER | None,
    },
}
CONFIG = {"method": {"name": str, "settings": dict}, "seed": int}
CLOSING = {
    "runs": [{"run": str, "config": CONFIG, "noise_rate": NUMBER | None, "failed": list | None}],
    "records": dict,
    "seconds": NUMBER,
    "executor": str,
    "device": str,
    "versions": dict,
    "finished": str,
}
SEARCH = {"trials": [str], "chosen": str}
COMPARED = {"runs": [str], "asked": dict | None, "latest": list | None}  # the two were not always noted


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
        """What was measured once, with the weights that noisy validation selects: see `engine.evaluate.details`.

        What is called last_… was measured with those of the last epoch.
        """
        return {name: value[self.place] for name, value in self.pack.measured.items()}


class Journal:
    """One pack's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records.jsonl"
        self.checkpoint = folder / "checkpoint.safetensors"
        self.details = folder / "details.safetensors"
        self.model = folder / "model.safetensors"
        self.lock = folder / ".lock"  # of a process that trains this pack beside others
        self._closing = folder / "finished.json"
        self._halved = folder / "halved"

    @property
    def finished(self) -> bool:
        """Whether this pack needs no more training."""
        return self._closing.exists()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What was noted when the pack finished."""
        return read_facts(self._closing, CLOSING, run_again(self.folder))

    @cached_property
    def measured(self) -> dict[str, Tensor]:
        """The details of all its runs, the run axis first; none where the file is lost."""
        if not self.details.exists():
            return {}
        tensors, _ = checkpoint.load(self.details, run_again(self.folder))
        if any(value.shape[:1] != (len(self.facts["runs"]),) for value in tensors.values()):
            raise InputError(f"{self.details} is not of these runs; {run_again(self.folder)}")
        return tensors

    def begin(self, epoch: int) -> None:
        """Keep the records of earlier epochs only: training goes on from there."""
        self._make()
        discard_drafts(self.folder)
        rewrite(self.records, [record for record in self.read() if record.epoch < epoch])

    def read(self) -> list[Record]:
        """All records so far."""
        return read(self.records, run_again(self.folder))

    def write(self, records: Sequence[Record]) -> None:
        """Add an epoch's records."""
        append(self.records, records)

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Close the pack, the number of each run's records noted; its checkpoint is no longer needed."""
        write_facts(self._closing, {**facts, "records": Counter(record.run for record in self.read())})
        self.checkpoint.unlink(missing_ok=True)
        discard_drafts(self.folder)

    def inherit(self, records: Sequence[Record]) -> None:
        """Begin with records of a pack that is given up; the checkpoint that they belong to comes next."""
        self.checkpoint.unlink(missing_ok=True)  # one of ours would be of another moment
        self.begin(0)
        self.write(records)

    @property
    def halved(self) -> bool:
        """Whether this pack did not fit in memory, and its halves stand for it."""
        return self._halved.exists()

    @property
    def halved_runs(self) -> frozenset[str]:
        """The identities of its runs, where it was halved."""
        return frozenset(read_facts(self._halved, {"runs": [str]}, run_again(self.folder))["runs"])

    def halve(self, runs: Sequence[str]) -> None:
        """Give this pack of runs up for its halves, also when the command is typed again."""
        self._make()
        write_facts(self._halved, {"runs": list(runs)})

    def clear(self) -> None:
        """Remove what this pack's halves have taken over."""
        for path in (self.checkpoint, self.records, self.details, self.model):
            path.unlink(missing_ok=True)
        discard_drafts(self.folder)

    def tidy(self) -> None:
        """Remove what a process that was killed has left; all runs of this pack are finished."""
        for path in (self.checkpoint, self.lock, self._halved):
            path.unlink(missing_ok=True)
        if self.finished:
            discard_drafts(self.folder)
        else:
            self.clear()

    def files(self) -> dict[str, bytes]:
        """What a finished pack consists of, by name, for whoever keeps it elsewhere."""
        return {path.name: path.read_bytes() for path in self._lasting if path.exists()}

    def put(self, files: Mapping[str, bytes]) -> None:
        """Keep a pack that was finished elsewhere; it counts once the last of its files is there."""
        self._make()
        for path in self._lasting:
            if path.name in files and not (path.exists() and path.read_bytes() == files[path.name]):
                write(path, files[path.name])  # where it is not there already, for the disk may be nearly full
        self.checkpoint.unlink(missing_ok=True)

    def _make(self) -> None:
        with explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def _lasting(self) -> tuple[Path, ...]:
        return self.records, self.details, self.model, self._closing

    def runs(self) -> list[Run]:
        """The runs of a finished pack."""
        histories: dict[str, list[Record]] = {}
        for record in self.read():
            histories.setdefault(record.run, []).append(record)
        if {run: len(history) for run, history in histories.items()} != self.facts["records"]:
            raise InputError(f"{self.records} is not whole; {run_again(self.folder)}")
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


class Contents(NamedTuple):
    """What a folder holds at one moment."""

    facts: dict[str, Any]  # see `Store.facts`
    runs: dict[str, Run]
    compared: set[str]  # identities of the runs that were asked for as such, and not only tried in a search
    searches: dict[str, Any]  # see `Store.searches`
    asked: dict[str, Any]  # method, code and seed of those compared, in the order in which they were asked for
    latest: set[str]  # those of them that the latest command has asked for


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
                write_facts(folder / "config.json", {"base": base, "data": data})
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
        return read_facts(self.folder / "config.json", SETTING, "restore it, or train again with another --out")

    @property
    def searches(self) -> dict[str, Any]:
        """By method: `trials`, the identities tried, and `chosen`, one of them."""
        path, advice = self.folder / "searches.json", "delete it to search again"
        found = read_facts(path, {}, advice) if path.exists() else {}
        if not fits(list(found.values()), [SEARCH]):
            raise InputError(f"{path} is damaged (it lacks what it was written with); {advice}")
        return found

    def note_search(self, method: str, trials: Sequence[str], chosen: str) -> None:
        """Keep what a search has found."""
        write_facts(self.folder / "searches.json", self.searches | {method: {"trials": list(trials), "chosen": chosen}})

    def note_compared(self, asked: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the runs that a command asks for, each identity with its method, code and seed, to those compared."""
        before = self._compared()
        runs = list(dict.fromkeys([*before["runs"], *asked]))
        facts = {"runs": runs, "asked": {**before["asked"], **asked}, "latest": list(asked)}
        write_facts(self.folder / "compared.json", facts)

    def _compared(self) -> dict[str, Any]:
        path, advice = self.folder / "compared.json", "delete it to show all runs"
        found = read_facts(path, COMPARED, advice) if path.exists() else {"runs": []}
        asked, latest = found.get("asked") or {}, found.get("latest") or found["runs"]
        if not (fits(list(asked.values()), [CONFIG]) and fits(latest, [str])):
            raise InputError(f"{path} is damaged (it lacks what it was written with); {advice}")
        return {"runs": found["runs"], "asked": asked, "latest": latest}

    def journal(self, name: str) -> Journal:
        """The folder of one pack."""
        return Journal(self.folder / name)

    def halved(self) -> list[frozenset[str]]:
        """Of each pack that was halved, the identities of its runs."""
        return [Journal(path.parent).halved_runs for path in self.folder.glob("*/halved")]

    @contextmanager
    def tidied(self) -> Iterator[None]:
        """Before and after what is done inside, nothing is left of packs whose runs are finished but these."""
        self._tidy()
        try:
            yield
        finally:
            self._tidy()

    def _tidy(self) -> None:
        discard_drafts(self.folder)
        done = self.runs().keys()
        for path in (*self.folder.glob("*/finished.json"), *self.folder.glob("*/halved")):
            journal = Journal(path.parent)
            if journal.finished or journal.halved_runs <= done:
                journal.tidy()
        for path in self.folder.glob("*/"):
            with suppress(OSError):  # it is not empty
                path.rmdir()

    def runs(self) -> dict[str, Run]:
        """All finished runs by identity, pack by pack in the order in which they were finished."""
        packs = [Journal(path.parent) for path in self.folder.glob("*/finished.json")]
        packs.sort(key=lambda pack: (pack.facts["finished"], pack.folder.name))
        return {run.identity: run for pack in packs for run in pack.runs()}

    def contents(self) -> Contents:
        """All that tables and reports are made of, each file read once; without a note, all runs are compared.

        Runs come in the order in which they were asked for, whichever was finished first.
        """
        found, noted = self.runs(), self._compared()
        runs = {identity: found[identity] for identity in noted["runs"] if identity in found} | found
        compared = set(noted["runs"] or runs)
        return Contents(self.facts, runs, compared, self.searches, noted["asked"], set(noted["latest"]))


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
            theirs = read_facts(folder / "config.json", {"base": dict}, "choose another --out")["base"]
            other = _differing(essential(theirs), essential(base))
            if other == ["data.fingerprint"] and theirs["data"]["source"] == base["data"]["source"]:
                raise InputError(
                    f"output folder {folder} holds runs on {base['data']['source']} as it was before, "
                    "and it has changed since; choose another --out"
                )
            if other:
                named = ", ".join(other[:3]) + (", …" if len(other) > 3 else "")
                raise InputError(
                    f"output folder {folder} holds runs of another config (not the same: {named}); choose another --out"
                )
        elif folder.exists() and (not folder.is_dir() or not all(map(_is_own, folder.iterdir()))):
            raise InputError(f"output folder {folder} exists and holds something else; choose another --out")
    except OSError as problem:
        raise InputError(f"output folder {folder} cannot be used ({problem}); choose another --out") from None


def _is_own(path: Path) -> bool:
    # What may lie in a folder that has just been begun.
    return path.name == ".lock" or path.suffix == ".draft"


def _differing(theirs: Any, ours: Any, where: str = "") -> list[str]:
    # dotted names of the settings that are not the same
    if not isinstance(theirs, Mapping) or not isinstance(ours, Mapping):
        return [where] if digest(theirs) != digest(ours) else []
    keys = dict.fromkeys([*ours, *theirs])
    each = (_differing(theirs.get(key), ours.get(key), f"{where}.{key}" if where else key) for key in keys)
    return [name for names in each for name in names]
