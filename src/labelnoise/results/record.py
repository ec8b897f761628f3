"""One record per run and epoch, kept as lines of JSON that are only ever appended."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from labelnoise.errors import InputError
from labelnoise.files import explained, write


@dataclass(frozen=True)
class Record:
    """What one run measured in one epoch."""

    run: str  # identity of the run
    method: str
    seed: int
    stage: str
    epoch: int
    measures: dict[str, float]  # what is no number is null in the file, for JSON has no NaN


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records to the file and see them to the disk."""
    with explained(path), path.open("a", encoding="utf-8") as file:
        file.writelines(_line(record) for record in records)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path, advice: str) -> list[Record]:
    """All whole records; a last line torn by a dying machine is passed over. The advice is for a damaged file."""
    if not path.exists():
        return []
    try:
        *lines, _ = path.read_bytes().split(b"\n")
        return [_record(line.decode()) for line in lines]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as problem:
        raise InputError(f"{path} is not a file of records ({problem}); {advice}") from None


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """Replace the file in one move."""
    write(path, "".join(map(_line, records)))


def _line(record: Record) -> str:
    # by name, for a training that was resumed may have met them in another order
    measures = {name: value if math.isfinite(value) else None for name, value in sorted(record.measures.items())}
    return json.dumps(vars(record) | {"measures": measures}, allow_nan=False) + "\n"


def _record(line: str) -> Record:
    fields = json.loads(line)
    measures = {name: math.nan if value is None else value for name, value in fields["measures"].items()}
    return Record(**fields | {"measures": measures})
