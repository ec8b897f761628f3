"""Cells of a table trained, those that were trained before left out, and set beside what was published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from labelnoise.config import RunConfig
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.ranks import interrupt as interruptions
from labelnoise.papers.paper import Cell
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import Beside
from labelnoise.reproduce.groups import Group, Recipe, Trainings, groups, trainings
from labelnoise.reproduce.kept import OUTCOMES, Made, besides, closed, note
from labelnoise.reproduce.searching import decide, trials, validated
from labelnoise.results.store import Store
from labelnoise.sweep.compare import facts_of, train_all
from labelnoise.sweep.run import Display, Engine, Workplace

WORK = "work"  # checkpoints, and records of every epoch


@dataclass(frozen=True)
class Place:
    """Where and how cells are trained."""

    out: Path
    device: torch.device
    display: Display
    execution: Execution = DEFAULT
    engine: Engine | None = None


def reproduce(table: Table, cells: Sequence[Cell], *, seeds: int, recipe: Recipe, at: Place) -> list[Beside]:
    """Train what is missing, and set all beside the published; outcomes are kept group by group, or when it is left."""
    rule = table.paper.facts["protocol"]["reported"]
    for group in groups(table.paper, cells, recipe):
        methods, tried = {cell: group.job(cell).methods for cell in group.cells}, trials(group)
        if tried:
            train(group, tried, at)
            methods |= decide(tried, outcomes.read(at.out / OUTCOMES), rule)
        runs = trainings(group, seeds, methods)
        note(at.out, table, recipe, made_of(runs, tried))
        train(group, runs, at)
    return besides(table, cells, recipe, at.out)


def made_of(runs: Trainings, tried: Trainings | None = None) -> Iterator[tuple[Cell, Made]]:
    """Of each cell the identities of its runs, and of those that a search tried for it."""
    by_cell, rows = (dict(tried.runs), validated(tried)) if tried else ({}, 0)
    for cell, configs in runs.runs:
        searched = tuple(config.identity for config in by_cell.get(cell, ()))
        yield cell, Made(tuple(config.identity for config in configs), searched, rows if searched else 0)


def train(group: Group, runs: Trainings, at: Place) -> None:
    """Have the outcomes of a group's runs, of which none is trained twice."""
    known = outcomes.read(at.out / OUTCOMES)
    missing = [config for config in runs.configs if config.identity not in known]
    if missing:
        finish(group, runs, missing, at)


def finish(group: Group, runs: Trainings, missing: Sequence[RunConfig], at: Place) -> Store:
    """Train some runs of a group, keep the outcomes, and give the folder that has all else of them."""
    facts, path = facts_of(missing, runs.build, runs.noise_rate), at.out / OUTCOMES
    with (
        interruptions() as interrupt,
        Store.open(at.out / WORK / group.name, runs.common, facts) as store,
    ):
        place = Workplace(
            store, runs.build, at.device, at.execution, at.display, interrupt, frozenset(store.runs()), at.engine
        )
        try:
            train_all(missing, place)
        finally:  # also what was finished before an interruption
            finished = {run.identity: outcomes.outcome(run) for run in store.runs().values()}
            with closed(at.out):  # others may have finished something meanwhile
                outcomes.keep(path, (finished | outcomes.read(path)).values())
    return store
