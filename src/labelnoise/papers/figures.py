"""Figures of a paper as data: what is drawn, and the trainings that it needs.

A figure names data, noises, methods and measures as tables do. Its cells have a published mean where a table prints
that of the same training, and NaN where nothing is printed.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from math import nan
from typing import Any, NamedTuple

from labelnoise.papers.paper import Cell, Paper


class Figure(NamedTuple):
    """One figure."""

    name: str
    kind: str  # what is drawn
    shows: str  # what there is to see in the paper's
    cells: tuple[Cell, ...]  # what is trained; nothing where it is computed
    values: tuple[float, ...]  # what is computed with
    across: str  # what the last word of a method's name is a value of
    seeds: int  # runs of each cell


def figures(paper: Paper) -> dict[str, Figure]:
    """All of a paper, by name."""
    printed = _printed(paper)
    return {each["name"]: _figure(paper, each, printed) for each in paper.facts.get("figures", [])}


def _figure(paper: Paper, facts: Mapping[str, Any], printed: Mapping[tuple[Any, ...], Cell]) -> Figure:
    return Figure(
        name=facts["name"],
        kind=facts["kind"],
        shows=facts["shows"],
        cells=tuple(cell for part in facts.get("trained", ()) for cell in _cells(paper, part, printed)),
        values=tuple(facts.get("values", ())),
        across=facts.get("across", ""),
        seeds=facts.get("seeds", paper.facts["protocol"]["seeds"]),
    )


def _cells(paper: Paper, part: Mapping[str, Any], printed: Mapping[tuple[Any, ...], Cell]) -> Iterator[Cell]:
    for where in product(part["data"], part["noises"], part["methods"], part["measures"]):
        data, noise, method, measure = where
        cell = Cell(data, noise, method, nan, None, best=False, net=part.get("net", ""), measure=measure)
        same = printed.get(_training(paper, cell))
        yield cell._replace(mean=same.mean, std=same.std) if same else cell


def _printed(paper: Paper) -> dict[tuple[Any, ...], Cell]:
    cells = (cell for table in paper.tables for cell in paper.published(table))
    return {_training(paper, cell): cell for cell in cells}


def _training(paper: Paper, cell: Cell) -> tuple[Any, ...]:
    # the same by whatever name: a smoothing of 0 is cross-entropy; settings come in any order
    method = paper.method(cell.method, cell.data, cell.noise)
    return cell.data, cell.noise, method.name, *sorted(method.settings.items()), cell.net, cell.measure
