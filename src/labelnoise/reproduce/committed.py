"""Records that were kept for good: a folder for each table or figure and recipe, and by hand why cells are off.

RESULTS/PAPER/TABLE-RECIPE/runs.jsonl, cells.jsonl    as `labelnoise reproduce` leaves them; of a figure, FIGURE-RECIPE
RESULTS/PAPER/reasons.yaml                            see `reasons`
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from labelnoise.errors import InputError
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import Cell
from labelnoise.reproduce import asked, reasons, stale
from labelnoise.reproduce.asked import KEYS, Table
from labelnoise.reproduce.beside import Beside
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.kept import CELLS, besides, finished
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.reasons import Reason

REASONS = "reasons.yaml"
VERDICTS = (
    "within noise",
    "within, wide spread",
    "within, single figure",
    "off, reason suspected",
    "off, no reason known",
    "not judged",
)


@dataclass(frozen=True)
class Measured:
    """A cell whose runs are finished."""

    beside: Beside
    runs: tuple[Outcome, ...]
    reason: str = ""  # why it is off, as far as anybody knows

    @property
    def cell(self) -> Cell:
        """That was published."""
        return self.beside.cell

    @property
    def off(self) -> bool:
        """By more than chance explains, or no run came to its end."""
        return self.beside.within is False or (self.beside.reached is None and self.beside.failed > 0)

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.off:
            return "off, reason suspected" if self.reason else "off, no reason known"
        if self.beside.within is None:
            return "not judged"
        if self.beside.wide:
            return "within, wide spread"
        return "within, single figure" if self.beside.single else "within noise"


class Committed(NamedTuple):
    """What there is of a table by one recipe."""

    table: Table
    recipe: Recipe
    folder: Path
    cells: list[Measured]

    def __str__(self) -> str:
        return f"{self.table}, recipe {self.recipe}"

    @property
    def published(self) -> list[Measured]:
        """The cells that there is a figure of; others are variants of ours."""
        return [each for each in self.cells if each.cell.printed]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many published cells are what."""
        found = [each.verdict for each in self.published]
        return {name: found.count(name) for name in VERDICTS}


def committed(results: Path) -> list[Committed]:
    """All tables that a folder of results holds.

    Cells by an older form of a recipe are refused, also those of figures, and so are cells of something else and
    reasons for nothing.
    """
    return [each for folder in sorted(results.glob("*/")) for each in _of_paper(folder)]


def _of_paper(folder: Path) -> list[Committed]:
    path = folder / REASONS
    known = reasons.read(path)
    every = [_read(each.parent, known) for each in sorted(folder.glob(f"table*/{CELLS}"))]
    found = [each for each in every if each.cells]  # of others no run is finished yet
    for each in sorted(folder.glob(f"fig*/{CELLS}")):
        _check_figure(each.parent)
    used = {cell.reason for each in found for cell in each.cells}
    for reason in known:
        if reason.sentence not in used:
            raise InputError(f"{path}: no measured cell is meant by {reason.sentence!r}; mend or delete it")
    return found


def _read(folder: Path, known: list[Reason]) -> Committed:
    table, recipe = named(folder)
    cells = table.paper.cells(table.name)
    _check(table, cells, recipe, folder)
    own = finished(table, cells, recipe, folder)
    measured = [
        Measured(each, tuple(own[each.cell])) for each in besides(table, cells, recipe, folder) if own[each.cell]
    ]
    return Committed(table, recipe, folder, [_explained(each, folder, table, recipe, known) for each in measured])


def _check_figure(folder: Path) -> None:
    figure, recipe = named(folder)
    _check(figure, figures(figure.paper)[figure.name].cells, recipe, folder)


def _check(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> None:
    stale.check(table, cells, recipe, folder)
    own = {(table.paper.folder.name, recipe, *(getattr(cell, key) for key in KEYS)) for cell in cells}
    lines = [json.loads(line) for line in (folder / CELLS).read_text(encoding="utf-8").splitlines()]
    others = [line for line in lines if tuple(line[key] for key in ("paper", "recipe", *KEYS)) not in own]
    if others:
        what = "{method} on {data}, {noise}, of {paper}, recipe {recipe}".format(**others[0])
        raise InputError(
            f"{folder} is for cells of {table}, recipe {recipe}, but {len(others)} of {len(lines)} in its {CELLS} are "
            f"others, such as {what}; move them to a folder with their name, or delete their lines"
        )


def named(folder: Path) -> tuple[Table, Recipe]:
    """Of which table or figure a folder is, and by which recipe."""
    name, _, wanted = folder.name.partition("-")
    for recipe in get_args(Recipe):
        if recipe == wanted:
            return asked.table(f"{folder.parent.name}/{name}"), recipe
    raise InputError(f"{folder} is not called TABLE-RECIPE, as in table1-paper; rename it")


def _explained(each: Measured, folder: Path, table: Table, recipe: Recipe, known: list[Reason]) -> Measured:
    meant = [reason.sentence for reason in known if reason.fits(table.name, recipe, each.cell)]
    place = f"{folder.parent / REASONS}: {each.cell.method} on {each.cell.data}, {each.cell.noise}, in {folder.name}"
    if meant and not each.off:
        raise InputError(f"{place} is not off, yet has the reason {meant[0]!r}; mend or delete it")
    if len(meant) > 1:
        raise InputError(f"{place} has several reasons: {', '.join(map(repr, meant))}; keep one")
    return Measured(each.beside, each.runs, *meant)
