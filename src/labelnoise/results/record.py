"""One record per run and epoch, kept as lines of JSON that are only ever appended."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from labelnoise.errors import InputError


@dataclass(frozen=True)
class Record:
    """What one run measured in one epoch."""

    run: str  # identity of the run
    method: str
    seed: int
    stage: str
    epoch: int
    measures: dict[str, float]


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records to the file and see them to the disk."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(_line(record) for record in records)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Record]:
    """All whole records; a last line torn by a dying machine is passed over."""
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")
    try:
        return [Record(**json.loads(line)) for line in lines]
    except (json.JSONDecodeError, TypeError) as problem:
        raise InputError(f"{path} is not a file of records ({problem})") from None


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """Replace the file in one move."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    append(draft, records)
    draft.replace(path)


def _line(record: Record) -> str:
    return json.dumps(asdict(record)) + "\n"
