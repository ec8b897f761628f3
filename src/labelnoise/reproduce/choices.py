"""What a search has chosen in each cell, beside what the authors chose, and how clear the choice was."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from labelnoise.config import Value
from labelnoise.papers.paper import Cell
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import KEYS, Table
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.kept import OUTCOMES, Made, made
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.searching import scores
from labelnoise.reproduce.tables import placed
from labelnoise.sweep.space import best

TITLE = "Hyper-parameters: ours are best on noisy validation with the first seed, theirs are what the authors chose"
HEAD = ("data", "noise", "method", "ours", "theirs", "on validation", "points", "within one standard error", "tied")
NUMBERS = ("score", "points", "finished", "near", "tied")


class Choice(NamedTuple):
    """One cell's."""

    cell: Cell
    ours: Mapping[str, Value]
    theirs: Mapping[str, Value]
    score: float | None  # accuracy on noisy validation; None where no point was trained to its end
    points: int  # of the grid
    finished: int  # of these, trained to their end
    near: int  # of these, other ones within one standard error of the best
    tied: int  # of these, as good as the best


def read(table: Table, cells: Sequence[Cell], recipe: Recipe, folder: Path) -> list[Choice]:
    """Those of the cells that were searched."""
    known, found = outcomes.read(folder / OUTCOMES), made(table, cells, recipe, folder)
    return [_choice(table, cell, found[cell], known) for cell in cells if found[cell].tried]


def rows(found: Sequence[Choice]) -> Iterator[tuple[str, ...]]:
    """One for each choice."""
    for each in found:
        yield (
            placed(each.cell),
            each.cell.noise,
            each.cell.method,
            _text(each.ours),
            _text(each.theirs),
            "–" if each.score is None else f"{100 * each.score:.2f}",
            str(each.points) if each.finished == each.points else f"{each.finished} of {each.points}",
            str(each.near),
            str(each.tied),
        )


def markdown(found: Sequence[Choice]) -> str:
    """A table for a document; nothing where nothing was searched."""
    lines = (HEAD, ["---"] * len(HEAD), *rows(found)) if found else ()
    return "\n".join([TITLE, "", *("| " + " | ".join(line) + " |" for line in lines), ""]) if lines else ""


def table(name: str, recipe: str, found: Sequence[Choice]) -> str:
    """Everything as numbers, for a program."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "recipe", *KEYS, "ours", "theirs", *NUMBERS])
    for each in found:
        cell = [getattr(each.cell, key) for key in KEYS]
        numbers = [getattr(each, name) for name in NUMBERS]
        writer.writerow([name, recipe, *cell, _text(each.ours), _text(each.theirs), *numbers])
    return text.getvalue()


def _choice(table: Table, cell: Cell, made: Made, known: Mapping[str, Outcome]) -> Choice:
    names = table.paper.grid(cell.method, cell.data)
    theirs = table.paper.method(cell.method, cell.data, cell.noise).settings
    found = scores(made.tried, known, table.paper.facts["protocol"]["reported"])
    winner = best(made.tried, found)
    ours = known[winner].config["method"]["settings"] if winner in known else {}
    near, tied = _alike(winner, found, made.validation_rows)
    return Choice(
        cell=cell,
        ours={name: ours[name] for name in names if name in ours},
        theirs={name: theirs[name] for name in names if name in theirs},
        score=found.get(winner),
        points=len(made.tried),
        finished=len(found),
        near=near,
        tied=tied,
    )


def _alike(winner: str, found: Mapping[str, float], rows: int) -> tuple[int, int]:
    # others within one standard error of an accuracy over so many rows, and equals
    if winner not in found:
        return 0, 0
    top, others = found[winner], [score for run, score in found.items() if run != winner]
    error = sqrt(top * (1 - top) / rows)
    return sum(score >= top - error for score in others), others.count(top)


def _text(settings: Mapping[str, Value]) -> str:
    shown = {name: f"{value:g}" if isinstance(value, int | float) else value for name, value in settings.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items()) or "–"
