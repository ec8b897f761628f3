"""What of a group is still to be trained, beside what is finished."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from labelnoise.config import Named
from labelnoise.engine.checkpoint import load_facts
from labelnoise.engine.loop import Position
from labelnoise.errors import InputError
from labelnoise.reproduce.groups import Group, trainings
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.searching import decide, trials
from labelnoise.results.store import Journal

NONE: Mapping[str, int] = {}


class Left(NamedTuple):
    """Runs of a group."""

    methods: list[tuple[Named, int]]  # to be trained, and how many runs they have
    tried: int  # of these, by a search
    there: int  # that are finished
    begun: int = 0  # epochs that are done of others

    @property
    def runs(self) -> int:
        """How many are to be trained."""
        return sum(runs for _, runs in self.methods)


def interrupted(groups: Sequence[Group], work: Path) -> Counter[str]:
    """Epochs that are done of runs that were left, by identity; `work` is the folder of their stores."""
    journals = [Journal(folder) for group in groups for folder in (work / group.name).glob("*")]
    return Counter(run for journal in journals if journal.checkpoint.exists() for run in _done(journal))


def left(group: Group, seeds: int, known: Mapping[str, Outcome], begun: Mapping[str, int] = NONE) -> Left:
    """All where nothing is known, and where data are not there, for they tell which runs these are."""
    try:
        return _left(group, seeds, known, begun) if known or begun else _all(group, seeds)
    except InputError:
        return _all(group, seeds)


def together(parts: Sequence[Left]) -> Left:
    """The runs of several groups."""
    methods = [method for part in parts for method in part.methods]
    tried, there, begun = (sum(each) for each in zip(*(part[1:] for part in parts), strict=True))
    return Left(methods, tried, there, begun)


def _done(journal: Journal) -> list[str]:
    # a run for each of its epochs; records after the checkpoint are made anew
    reached = Position(*load_facts(journal.checkpoint)["position"]).epoch
    return [record.run for record in journal.read() if record.epoch < reached]


def _all(group: Group, seeds: int) -> Left:
    return Left(group.trained(seeds), group.tried, 0)


def _left(group: Group, seeds: int, known: Mapping[str, Outcome], begun: Mapping[str, int]) -> Left:
    methods, tried = {cell: group.job(cell).methods for cell in group.cells}, trials(group)
    if tried:  # as far as it has come, another point may still win; it has as many seeds to go on with
        methods |= decide(tried, known, group.paper.facts["protocol"]["reported"])
    searched = {config.identity for config in tried.configs} if tried else set()
    runs = [*(tried.configs if tried else ()), *trainings(group, seeds, methods).configs]
    wanted = {config.identity: config.method for config in runs}
    missing = {run: method for run, method in wanted.items() if run not in known}
    there, done = len(wanted) - len(missing), sum(begun.get(run, 0) for run in missing)
    return Left([(method, 1) for method in missing.values()], len(searched & {*missing}), there, done)
