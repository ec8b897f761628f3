"""The numbers that a figure draws, as a table: with it the figure is drawn anew anywhere, without its runs."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.asked import KEYS

Column = NDArray[np.float64] | NDArray[np.str_]
WORDS = ("label",)  # columns that are no numbers
PLACE = (*KEYS, "run", "seed", "part")  # what a line is of


class Series(NamedTuple):
    """Columns of equal length that belong together: of one run, or of what is computed."""

    data: str
    noise: str
    method: str
    net: str
    measure: str
    run: str  # identity; nothing of what is computed
    seed: int
    part: str  # where a run has several kinds of columns
    columns: Mapping[str, Column]

    @property
    def origin(self) -> tuple[str, ...]:
        """The cell and the run."""
        return self.data, self.noise, self.method, self.net, self.measure, self.run

    def numbers(self, *names: str) -> list[NDArray[np.float64]]:
        """Columns of numbers."""
        return [np.asarray(self.columns[name], dtype=np.float64) for name in names]


def series(cell: Cell, run: str, seed: int, columns: Mapping[str, Column], part: str = "") -> Series:
    """That of a cell's run."""
    return Series(cell.data, cell.noise, cell.method, cell.net, cell.measure, run, seed, part, columns)


def table(found: Sequence[Series]) -> str:
    """All of them as CSV."""
    names = list(dict.fromkeys(name for each in found for name in each.columns))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*PLACE, *names])
    for each in found:
        shown = [_shown(each.columns[name]) if name in each.columns else None for name in names]
        lines = len(next(iter(each.columns.values())))
        for line in range(lines):
            writer.writerow([*each[: len(PLACE)], *("" if column is None else column[line] for column in shown)])
    return text.getvalue()


def read(path: Path) -> list[Series]:
    """What a file of them holds; nothing where there is none."""
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *lines = csv.reader(file)
        if tuple(head[: len(PLACE)]) != PLACE or any(len(line) != len(head) for line in lines):
            raise ValueError("its columns are others")
        return [_series(place, head, list(own)) for place, own in groupby(lines, key=lambda line: line[: len(PLACE)])]
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} is not a file of a figure ({problem}); delete it and type again") from None


def _series(place: Sequence[str], head: Sequence[str], lines: Sequence[Sequence[str]]) -> Series:
    columns = {name: [line[at] for line in lines] for at, name in enumerate(head) if at >= len(PLACE)}
    there = {name: _column(name, texts) for name, texts in columns.items() if any(texts)}
    data, noise, method, net, measure, run, seed, part = place
    return Series(data, noise, method, net, measure, run, int(seed), part, there)


def _column(name: str, texts: Sequence[str]) -> Column:
    return np.array(texts) if name in WORDS else np.array([float(text) for text in texts])


def _shown(column: Column) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in column.tolist()]
