"""Hyper-parameters chosen anew: each point of a paper's grid is trained with one seed, and noisy validation decides."""

from collections.abc import Collection, Mapping

from labelnoise.config import Named
from labelnoise.data.split import split
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.groups import Group, Trainings, trainings
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.sweep.space import best

SCORE = "validation/score"


def trials(group: Group) -> Trainings | None:
    """What a search runs, cell by cell in the order of the grid; None where nothing is searched."""
    tried = {cell: group.points(cell) for cell in group.cells if group.grid(cell)}
    return trainings(group, 1, tried) if tried else None


def decide(tried: Trainings, known: Mapping[str, Outcome], rule: str) -> dict[Cell, tuple[Named, ...]]:
    """The method of each cell with the settings that are best at the epoch of this rule."""
    found: dict[Cell, tuple[Named, ...]] = {}
    for cell, configs in tried.runs:
        methods = {config.identity: config.method for config in configs}
        found[cell] = (methods[best(methods, scores(methods, known, rule))],)
    return found


def scores(tried: Collection[str], known: Mapping[str, Outcome], rule: str) -> dict[str, float]:
    """Accuracy on noisy validation of each run that was trained to its end."""
    found = {run: known[run].measured(rule, SCORE) for run in tried if run in known}
    return {run: score for run, score in found.items() if score is not None}


def validated(tried: Trainings) -> int:
    """How many rows of noisy validation decide."""
    config = tried.configs[0]
    return len(split(tried.build(config.seed), config.split, config.seed).validation)
