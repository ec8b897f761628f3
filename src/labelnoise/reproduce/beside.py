"""Ours beside the published: the difference, and whether chance explains it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import mean, stdev
from typing import NamedTuple

from scipy.stats import f, ttest_ind_from_stats

from labelnoise.papers.paper import Cell

ERRORS = 2  # standard errors within which a difference is chance
SIGNIFICANCE = 0.05
WIDE = 0.01  # of the test by which a spread is too wide for the published one
LESS = ("test/ece_100", "train/wrong_accuracy_given")  # is better


class Spread(NamedTuple):
    """Mean and standard deviation of so many runs, in per cent."""

    mean: float
    std: float | None  # None of a single run
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")


def spread(values: Sequence[float]) -> Spread:
    """Of shares, one for each run."""
    return Spread(100 * mean(values), 100 * stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class Beside:
    """A published figure and what our runs reached, by the epoch that speaks for a run."""

    cell: Cell
    ours: Mapping[str, Spread]  # last, selected, oracle, …; nothing where no run is finished
    reported: str  # the one of these that the paper reports
    seeds: int  # of the published mean
    failed: int = 0  # runs whose loss was no number in the end
    noise_rate: float | None = None  # share of training labels that came out wrong, mean over runs
    missing: int = 0  # runs that were asked for and are not finished
    unlike: str = ""  # in what its runs were made otherwise than each other

    @property
    def published(self) -> Spread | None:
        """What the paper says, if anything."""
        if not self.cell.printed:
            return None
        return Spread(self.cell.mean, self.cell.std, 1 if self.cell.std is None else self.seeds)

    @property
    def reached(self) -> Spread | None:
        """What we have to set beside it."""
        return self.ours.get(self.reported)

    @property
    def difference(self) -> float | None:
        """Ours minus the published, in points."""
        return None if self.reached is None or not self.cell.printed else self.reached.mean - self.cell.mean

    @cached_property
    def error(self) -> float | None:
        """Standard error of the difference; a single run is taken to spread as the other side does."""
        if self.reached is None or self.published is None:
            return None
        sides = self.reached, self.published
        known = [side.std for side in sides if side.std is not None]
        if not known:
            return None
        return sqrt(sum((known[-1] if side.std is None else side.std) ** 2 / side.runs for side in sides))

    @property
    def within(self) -> bool | None:
        """Whether chance explains the difference; None where nothing tells how large chance is.

        Nor does a mean that is near tell much where runs have failed, which are not in it.
        """
        if self.difference is None or self.error is None:
            return None
        near = abs(self.difference) <= ERRORS * self.error
        return None if near and self.failed else near

    @property
    def single(self) -> bool:
        """Whether the published figure has no spread, so that only ours tells how large chance is."""
        return self.published is not None and self.published.std is None

    @property
    def chance(self) -> float | None:
        """How often means of trainings that are alike differ as much, by the pooled t-test; None without a spread."""
        if self.reached is None or self.published is None:
            return None
        return _chance(self.reached, self.published)

    @property
    def wide(self) -> bool:
        """Whether our runs spread more than chance makes of the published ones (F-test at 1 %): one may be astray."""
        if self.reached is None or self.published is None or not self.reached.std or not self.published.std:
            return False
        ratio = (self.reached.std / self.published.std) ** 2
        return bool(f.sf(ratio, self.reached.runs - 1, self.published.runs - 1) < WIDE)


def not_worse(column: Sequence[Spread | None], *, less: bool = False) -> list[bool]:
    """Which of a column are not significantly worse than its best, by the pooled two-sided t-test at 5 %.

    The best is always one of them, unless it has a single run: then nothing can be told, and none is marked.
    """
    there = [each for each in column if each is not None]
    best = max(there, default=None, key=lambda each: -each.mean if less else each.mean)
    if best is None or best.std is None:
        return [False] * len(column)
    return [each is not None and (each is best or (_chance(each, best) or 0.0) >= SIGNIFICANCE) for each in column]


def _chance(first: Spread, second: Spread) -> float | None:
    if first.std is None or second.std is None:
        return None
    if first.std == second.std == 0:
        return float(first.mean == second.mean)
    return float(ttest_ind_from_stats(*first, *second).pvalue)
