"""Cells of a table as trainings: those under one recipe make a group, whose runs are packed together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from labelnoise.comparing import make_plan
from labelnoise.config import Job, Named, RunConfig, digest
from labelnoise.configure import build
from labelnoise.data.dataset import Builder
from labelnoise.papers.paper import Cell, Paper
from labelnoise.results.store import VARIOUS
from labelnoise.sweep.compare import base_of, common_of
from labelnoise.sweep.plan import comparison

Recipe = Literal["paper", "fast"]


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

    @property
    def trained(self) -> list[tuple[str, Named]]:
        """Noises with methods, each once: several cells may tell of the same runs."""
        found = {
            digest([cell.noise, repr(method)]): (cell.noise, method)
            for cell in self.cells
            for method in self.job(cell).methods
        }
        return list(found.values())

    def job(self, cell: Cell) -> Job:
        """What a cell is trained by, without a look at the data."""
        return build(Job, self.settings(cell))

    def settings(self, cell: Cell) -> dict[str, Any]:
        """As they are in a config file."""
        return self.paper.settings(cell.data, cell.noise, [cell.method], cell.net, fast=self.recipe == "fast")


@dataclass(frozen=True)
class Trainings:
    """The runs of a group."""

    build: Builder  # seed -> data set
    common: dict[str, Any]  # what all share; its noise is none of theirs
    runs: tuple[tuple[Cell, tuple[RunConfig, ...]], ...]  # of each cell, one for each seed
    noise_rate: float | None  # of the first cell

    @property
    def configs(self) -> list[RunConfig]:
        """All of them; two cells may need the same run."""
        return list({config.identity: config for _, configs in self.runs for config in configs}.values())


def groups(paper: Paper, cells: Sequence[Cell], recipe: Recipe) -> list[Group]:
    """Cells by recipe, in the order in which they come."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(Group(paper, recipe, (cell,)).name, []).append(cell)
    return [Group(paper, recipe, tuple(together)) for together in found.values()]


def trainings(group: Group, seeds: int) -> Trainings:
    """What is to be run for a group; its data are read."""
    plan = make_plan(group.settings(group.cells[0]))
    dataset, runs, rates = plan.build(0), [], []
    for cell in group.cells:
        job = replace(plan.job, noise=cell.noise, methods=group.job(cell).methods)
        base, rate = base_of(job, dataset)
        runs.append((cell, tuple(comparison(base, job.methods, seeds, rate))))
        rates.append(rate)
    shared = replace(runs[0][1][0], method=Named(""), code="", seed=0, noise=VARIOUS, transition="")
    return Trainings(plan.build, common_of(shared), tuple(runs), rates[0])
