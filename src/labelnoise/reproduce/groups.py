"""Cells of a table as trainings: those under one recipe make a group, whose runs are packed together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from labelnoise.comparing import make_plan
from labelnoise.config import Job, Named, RunConfig, Value, digest
from labelnoise.configure import build
from labelnoise.data.dataset import Builder
from labelnoise.errors import InputError
from labelnoise.papers.paper import Cell, Paper
from labelnoise.results.store import VARIOUS
from labelnoise.sweep.compare import base_of, common_of
from labelnoise.sweep.plan import comparison
from labelnoise.sweep.space import points

Recipe = Literal["paper", "fast", "paper-search", "fast-search"]
SEARCHED = ("paper-search", "fast-search")  # hyper-parameters are chosen anew


@dataclass(frozen=True)
class Group:
    """Cells that share data, network, training and split; they differ in method, noise and settings."""

    paper: Paper
    recipe: Recipe
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """Data and network, and digits that change with every setting of the recipe."""
        job, first = self.job(self.cells[0]), self.cells[0]
        words = [first.data, job.net.name, self.recipe]
        shared = {"net": job.net, "train": job.train, "split": job.split}
        return "-".join(words).replace(":", "-") + f"-{digest(repr(shared))[:8]}"

    def trained(self, seeds: int) -> list[tuple[Named, int]]:
        """Methods and how many runs they have, once for every noise: several cells may tell of the same runs.

        What a search tries has one seed, and its best goes on with the others.
        """
        found = {
            digest([cell.noise, repr(method)]): (method, len(self.points(cell)) + seeds - 1)
            for cell in self.cells
            for method in self.job(cell).methods
        }
        return list(found.values())

    @property
    def tried(self) -> int:
        """How many of these runs are there to search."""
        return sum(runs for _, runs in self.trained(seeds=1) if runs > 1)

    def job(self, cell: Cell) -> Job:
        """What a cell is trained by, without a look at the data."""
        return build(Job, self.settings(cell))

    def settings(self, cell: Cell) -> dict[str, Any]:
        """As they are in a config file."""
        return self.paper.settings(cell.data, cell.noise, [cell.method], cell.net, fast=self.recipe.startswith("fast"))

    def grid(self, cell: Cell) -> dict[str, tuple[Value, ...]]:
        """The values that are tried of each hyper-parameter that is searched."""
        return self.paper.grid(cell.method, cell.data) if self.recipe in SEARCHED else {}

    def points(self, cell: Cell) -> list[Named]:
        """A cell's method with all settings that are tried: one, where nothing is searched."""
        (method,) = self.job(cell).methods
        return points(method, self.grid(cell))


@dataclass(frozen=True)
class Trainings:
    """The runs of a group."""

    build: Builder  # seed -> data set
    common: dict[str, Any]  # what all share; its noise is none of theirs
    runs: tuple[tuple[Cell, tuple[RunConfig, ...]], ...]  # of each cell, one for each method and seed
    noise_rate: float | None  # of the first cell

    @property
    def configs(self) -> list[RunConfig]:
        """All of them; two cells may need the same run."""
        return list({config.identity: config for _, configs in self.runs for config in configs}.values())


def groups(paper: Paper, cells: Sequence[Cell], recipe: Recipe) -> list[Group]:
    """Cells by recipe, in the order in which they come; a search of none of them is refused."""
    if recipe in SEARCHED and not any(Group(paper, recipe, (cell,)).grid(cell) for cell in cells):
        labels = ", ".join(dict.fromkeys(cell.method for cell in cells))
        said = paper.facts["protocol"]["chosen"]
        raise InputError(f"{paper.folder.name} has no grid for {labels} (chosen: {said}); leave out --search")
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(Group(paper, recipe, (cell,)).name, []).append(cell)
    return [Group(paper, recipe, tuple(together)) for together in found.values()]


def trainings(group: Group, seeds: int, methods: Mapping[Cell, Sequence[Named]] | None = None) -> Trainings:
    """What is to be run for a group, or for some of its cells by these methods; its data are read."""
    methods = methods or {cell: group.job(cell).methods for cell in group.cells}
    plan = make_plan(group.settings(group.cells[0]))
    dataset, runs, rates = plan.build(0), [], []
    for cell, own in methods.items():
        base, rate = base_of(replace(plan.job, noise=cell.noise), dataset)
        runs.append((cell, tuple(comparison(base, own, seeds, rate))))
        rates.append(rate)
    shared = replace(runs[0][1][0], method=Named(""), code="", seed=0, noise=VARIOUS, transition="")
    return Trainings(plan.build, common_of(shared), tuple(runs), rates[0])
