"""A figure of a paper: what it needs trained, what is kept of that, and what is drawn of it."""

from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path

import numpy as np

from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.papers.figures import Figure
from labelnoise.papers.paper import Cell
from labelnoise.report.template import Drawing
from labelnoise.reproduce import curves, outcomes, scenes
from labelnoise.reproduce.asked import KEYS, Table
from labelnoise.reproduce.computed import COMPUTED
from labelnoise.reproduce.groups import Group, Recipe, Trainings, groups, trainings
from labelnoise.reproduce.kept import OUTCOMES, closed, finished, note
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.run import Place, finish, made_of, train
from labelnoise.reproduce.series import Series, read, series, table
from labelnoise.reproduce.taken import TAKEN, taken

TRAINED: dict[str, Callable[[Figure, Sequence[Series]], Drawing]] = {
    "by noise": curves.by_noise,
    "by setting": curves.by_setting,
    "by epoch": curves.by_epoch,
    "margins": curves.margins,
    "residuals": curves.residuals,
    "projection": scenes.projection,
    "regions": scenes.regions,
    "lines": scenes.lines,
}


def train_cells(asked: Table, figure: Figure, cells: Sequence[Cell], *, seeds: int, recipe: Recipe, at: Place) -> None:
    """Have what the figure draws of these cells; nothing is trained twice."""
    for group in groups(asked.paper, cells, recipe):
        runs = trainings(group, seeds)
        note(at.out, asked, recipe, made_of(runs))
        if figure.kind in TAKEN:
            _take(figure, group, runs, numbers(asked, recipe, at.out), at)
        else:
            train(group, runs, at)


def drawn(asked: Table, figure: Figure, recipe: Recipe, folder: Path) -> tuple[list[Series], Drawing]:
    """The numbers of a figure, as far as they are there, and its panels."""
    if figure.kind in COMPUTED:
        return COMPUTED[figure.kind](figure)
    own = finished(asked, figure.cells, recipe, folder)
    if figure.kind in TAKEN:
        kept: dict[tuple[str, ...], list[Series]] = {}
        for each in read(numbers(asked, recipe, folder)):
            kept.setdefault(each.origin, []).append(each)
        found = [each for cell, runs in own.items() for run in runs for each in kept.get((*_place(cell), run.run), ())]
    else:
        rule = asked.paper.facts["protocol"]["reported"]
        found = [each for cell, runs in own.items() for run in runs for each in _measured(cell, run, rule)]
    if not found:
        raise InputError(f"no run of {asked} has come to its end without failing; there is nothing to draw")
    found += scenes.solved(figure) if figure.kind == "lines" else []
    return found, TRAINED[figure.kind](figure, found)


def numbers(asked: Table, recipe: Recipe, folder: Path) -> Path:
    """The file of what a figure draws."""
    return folder / f"{asked.paper.folder.name}-{asked.name}-{recipe}.csv"


def _take(figure: Figure, group: Group, runs: Trainings, path: Path, at: Place) -> None:
    known, ended = {each.origin for each in read(path)}, outcomes.read(at.out / OUTCOMES)
    missing = [
        (cell, config)
        for cell, configs in runs.runs
        for config in configs
        if (outcome := ended.get(config.identity)) is None
        or not (outcome.failed or (*_place(cell), config.identity) in known)
    ]
    if not missing:
        return
    store = finish(group, runs, list({config.identity: config for _, config in missing}.values()), at)
    trained, classes = store.runs(), store.facts["data"]["classes"]
    there = [(cell, trained[config.identity]) for cell, config in missing if config.identity in trained]
    new = [each for cell, run in there if not run.failed for each in taken(figure.kind, cell, run, classes)]
    with closed(at.out):  # others may have kept something meanwhile
        before = [each for each in read(path) if each.origin not in {one.origin for one in new}]
        write(path, table([*before, *new]))


def _measured(cell: Cell, run: Outcome, rule: str) -> list[Series]:
    value = run.measured(rule, cell.measure)
    if value is None:
        return []
    known = {"value": value, "noise_rate": run.noise_rate, "published": cell.mean / 100}
    columns = {name: np.array([each]) for name, each in known.items() if each is not None and not isnan(each)}
    return [series(cell, run.run, run.config["seed"], columns)]


def _place(cell: Cell) -> tuple[str, ...]:
    return tuple(getattr(cell, key) for key in KEYS)
