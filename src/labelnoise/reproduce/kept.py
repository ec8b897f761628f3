"""What is known of a table: outcomes of runs, and which of them each cell is made of.

Both are small files of a folder. With them a table is put together anywhere, without its data.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from filelock import FileLock

from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.papers.paper import Cell
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import KEYS, Table
from labelnoise.reproduce.beside import Beside, spread
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.results.unlike import unlike

OUTCOMES, CELLS = "runs.jsonl", "cells.jsonl"


class Made(NamedTuple):
    """What a cell is made of."""

    runs: tuple[str, ...] = ()  # identities
    tried: tuple[str, ...] = ()  # those of a search that chose the settings, in the order of the grid
    validation_rows: int = 0  # by which it chose


class Key(NamedTuple):
    """A cell of a paper under one of its recipes."""

    paper: str
    recipe: Recipe
    data: str
    noise: str
    method: str
    net: str
    measure: str


def note(folder: Path, table: Table, recipe: Recipe, cells: Iterable[tuple[Cell, Made]]) -> None:
    """Keep what cells are made of; others stay as they are, and so do more seeds of the same."""
    with closed(folder):
        known = _cells(folder)
        for cell, new in cells:
            key = _key(table, recipe, cell)
            old = known.get(key, new).runs
            known[key] = new._replace(runs=old) if old[: len(new.runs)] == new.runs else new
        lines = [json.dumps(key._asdict() | _told(made)) for key, made in sorted(known.items())]
        write(folder / CELLS, "".join(f"{line}\n" for line in lines))


def closed(folder: Path) -> AbstractContextManager[Any]:
    """While one command reads and writes a folder's files, others wait."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        with lock:  # whether one may
            return lock
    except OSError as problem:
        raise InputError(f"output folder {folder} cannot be used ({problem}); choose another --out") from None


def besides(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> list[Beside]:
    """Cells beside what their runs have reached, as far as they are finished."""
    own, wanted = finished(table, cells, recipe, folder), made(table, cells, recipe, folder)
    protocol = table.paper.facts["protocol"]
    return [beside(cell, own[cell], protocol, missing=len(wanted[cell].runs) - len(own[cell])) for cell in cells]


def finished(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> dict[Cell, list[Outcome]]:
    """The runs that cells are made of, as far as they are finished."""
    known, made_of = outcomes.read(folder / OUTCOMES), made(table, cells, recipe, folder)
    return {cell: [known[run] for run in made_of[cell].runs if run in known] for cell in cells}


def made(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> dict[Cell, Made]:
    """What cells are made of; nothing, where none is noted."""
    known = _cells(folder)
    return {cell: known.get(_key(table, recipe, cell), Made()) for cell in cells}


def beside(cell: Cell, own: Sequence[Outcome], protocol: Mapping[str, object], *, missing: int = 0) -> Beside:
    """A cell and what its runs reached; so many others are missing."""
    healthy = [each for each in own if not each.failed]
    rules = list(healthy[0].measures) if healthy else []
    values = {rule: [each.measured(rule, cell.measure) for each in healthy] for rule in rules}
    ours = {
        rule: spread([value for value in each if value is not None])
        for rule, each in values.items()
        if None not in each
    }
    rates = [each.noise_rate for each in own if each.noise_rate is not None]
    rate = mean(rates) if rates else None
    return Beside(
        cell,
        ours,
        str(protocol["reported"]),
        int(str(protocol["seeds"])),
        failed=len(own) - len(healthy),
        noise_rate=rate,
        missing=missing,
        unlike=unlike([each.facts | {"commit": each.commit} for each in own]),
    )


def _key(table: Table, recipe: Recipe, cell: Cell) -> Key:
    return Key(table.paper.folder.name, recipe, *(getattr(cell, name) for name in KEYS))


def _told(made: Made) -> dict[str, Any]:
    # of a search only where there was one
    return {name: value for name, value in made._asdict().items() if value}


def _cells(folder: Path) -> dict[Key, Made]:
    path = folder / CELLS
    if not path.exists():
        return {}
    try:
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {
            Key(*(each[name] for name in Key._fields)): Made(
                tuple(each["runs"]), tuple(each.get("tried", ())), each.get("validation_rows", 0)
            )
            for each in found
        }
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise InputError(
            f"{path} is not a file of cells ({problem}); restore it, or delete it and type again"
        ) from None
