"""Several estimates of T side by side, each with the noise rate it implies and with bootstrap intervals.

Rows are drawn again with replacement while the network's probabilities stay as they are: the intervals hold what comes
from having these examples rather than others, not what another training would change, nor an estimator's own bias.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.metrics.matrix import MatrixError, matrix_error, shares
from labelnoise.rng import Rng
from labelnoise.transition.anchor import Quantile, anchor_rows, estimate_anchor
from labelnoise.transition.checked import checked_labels, checked_pair
from labelnoise.transition.confident import confident_joint, estimate_confident
from labelnoise.transition.dual import dual_product, estimate_dual
from labelnoise.transition.known import estimate_known, known_counts
from labelnoise.types import Array

SINGULAR = 1e-8  # singular values of T below this share of the largest say nothing about the prior
FEWEST_RESAMPLES = 20


class Interval(NamedTuple):
    """Two quantiles of the bootstrap, which leave out the same share on either side."""

    low: Tensor
    high: Tensor


class Estimate(NamedTuple):
    """What one estimator says; float64 on the CPU."""

    T: Tensor  # (K, K)
    prior: Tensor  # (K,) probabilities of the true classes
    rate: Tensor  # 1 - Σ prior[i] T[i, i]
    T_interval: Interval | None  # of each entry, (K, K); None without a bootstrap
    rate_interval: Interval | None
    error: MatrixError | None  # against the known T, where true labels are


@dataclass(frozen=True)
class Estimates:
    """Estimates by name; prints as a table."""

    methods: dict[str, Estimate]  # with "known" where true labels are
    level: float
    resamples: int  # kept for the intervals

    def __getitem__(self, name: str) -> Estimate:
        return self.methods[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.methods)

    def __str__(self) -> str:
        lines = [["method", "noise rate", f"{100 * self.level:g} % interval", "T[i, i]", "error of an entry"]]
        lines += [_cells(name, estimate) for name, estimate in self.methods.items()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return "\n".join(padded)


class Rows(NamedTuple):
    """The examples, or a resample of them."""

    probs: Tensor  # (N, K)
    labels: Tensor  # (N,)
    true: Tensor | None  # (N,), -1 for none of the classes
    quantile: Quantile  # above which nothing is an anchor

    def at(self, rows: Tensor) -> "Rows":
        """These rows."""
        true = None if self.true is None else self.true[rows]
        return Rows(self.probs[rows], self.labels[rows], true, self.quantile)


class Solution(NamedTuple):
    """T and the prior of the true classes, both NaN where the rows leave them open."""

    T: Tensor
    prior: Tensor

    @property
    def rate(self) -> Tensor:
        """Probability of a wrong label."""
        right = (self.prior * self.T.diagonal(dim1=-2, dim2=-1)).sum(-1)
        return 1 - right.clamp(max=1)  # a last digit may exceed it


class Estimator(NamedTuple):
    """A solution that may have NaN, and a check that says in a sentence why."""

    solve: Callable[[Rows], Solution]
    check: Callable[[Rows], Tensor]


def estimate(
    probs: Array,
    labels: Array,
    *,
    methods: Sequence[str] = ("anchor", "dual", "confident"),
    y_true: Array | None = None,
    quantile: Quantile = "auto",
    bootstrap: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> Estimates:
    """Estimate T from noisy posteriors (N, K), best out of sample, and given labels (N,), by several methods at once.

    `bootstrap` resamples give an interval for every entry and for the noise rate; 0 leaves intervals out. With `y_true`
    the known T joins them, and each has its error. `quantile` is that of `estimate_anchor`.

        estimates = estimate(probs, labels)
        print(estimates)
        estimates["dual"].T, estimates["dual"].rate_interval
    """
    rows = _rows(probs, labels, y_true, quantile)
    _check_settings(methods, bootstrap, level)
    names = list(dict.fromkeys(methods if rows.true is None else [*methods, "known"]))
    for name in names:
        _check_rows(name, rows)
    solutions = {name: ESTIMATORS[name].solve(rows) for name in names}
    drawn = _drawn(rows, names, bootstrap, seed) if bootstrap else {}
    truth = solutions["known"].T if rows.true is not None else None
    results = {}
    for name, solution in solutions.items():
        entries, rate = _intervals(drawn[name], level) if drawn else (None, None)
        error = None if truth is None or name == "known" else matrix_error(solution.T, truth)
        results[name] = Estimate(solution.T, solution.prior, solution.rate, entries, rate, error)
    return Estimates(results, level, len(drawn[names[0]].T) if drawn else 0)


def implied_prior(T: Tensor, labels: Tensor) -> Tensor:
    """The prior π of true classes whose labels are distributed as the given ones, π T = shares of the labels.

    Where noise in T leads out of the probabilities, negative ones are set to zero.
    """
    given = torch.bincount(labels, minlength=len(T)).to(T)
    prior: Tensor = (given @ torch.linalg.pinv(T, rtol=SINGULAR)).clamp(min=0)
    return prior / prior.sum()


def _by_anchor(rows: Rows) -> Solution:
    T = anchor_rows(rows.probs, rows.quantile)
    return Solution(T, implied_prior(T, rows.labels))


def _by_dual(rows: Rows) -> Solution:
    T = dual_product(rows.probs, rows.labels, rows.quantile)
    return Solution(T, implied_prior(T, rows.labels))


def _by_confidence(rows: Rows) -> Solution:
    return _counted(confident_joint(rows.probs, rows.labels).T)


def _by_truth(rows: Rows) -> Solution:
    return _counted(known_counts(_true(rows), rows.labels, rows.probs.shape[1]))


def _counted(joint: Tensor) -> Solution:
    """From counts (K true, K given)."""
    return Solution(shares(joint), joint.sum(1).double() / joint.sum())


ESTIMATORS = {
    "anchor": Estimator(_by_anchor, lambda rows: estimate_anchor(rows.probs, quantile=rows.quantile, strict=True)),
    "dual": Estimator(
        _by_dual, lambda rows: estimate_dual(rows.probs, rows.labels, quantile=rows.quantile, strict=True)
    ),
    "confident": Estimator(_by_confidence, lambda rows: estimate_confident(rows.probs, rows.labels)),
    "known": Estimator(_by_truth, lambda rows: estimate_known(_true(rows), rows.labels, rows.probs.shape[1])),
}


def _true(rows: Rows) -> Tensor:
    if rows.true is None:
        raise InputError("method 'known' needs y_true; give true labels, -1 where an input is of none of the classes")
    return rows.true


def _rows(probs: Array, labels: Array, y_true: Array | None, quantile: Quantile) -> Rows:
    probs, labels = checked_pair(probs, labels)
    if y_true is None:
        return Rows(probs.cpu(), labels.cpu(), None, quantile)
    true = checked_labels(y_true, probs.shape[1], "y_true", least=-1)
    if len(true) != len(labels):
        raise InputError(f"y_true has {len(true)} rows but labels has {len(labels)}; give one for each row")
    return Rows(probs.cpu(), labels.cpu(), true.cpu(), quantile)


def _check_settings(methods: Sequence[str], bootstrap: int, level: float) -> None:
    unknown = [name for name in methods if name not in ESTIMATORS]
    if unknown or not methods or isinstance(methods, str):
        raise InputError(f"methods must be some of {', '.join(ESTIMATORS)}, not {methods!r}")
    if bootstrap and bootstrap < FEWEST_RESAMPLES:
        raise InputError(f"bootstrap must be at least {FEWEST_RESAMPLES}, or 0 for no intervals, not {bootstrap}")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, not {level}; write 0.95 for 95 %")


def _check_rows(name: str, rows: Rows) -> None:
    try:
        ESTIMATORS[name].check(rows)
    except InputError as problem:
        raise InputError(f"{problem}; or leave {name!r} out of methods") from None


def _drawn(rows: Rows, names: Sequence[str], bootstrap: int, seed: int) -> dict[str, Solution]:
    """Each method's solutions on the same resamples, (R, K, K) and (R, K), without those that lost a class."""
    number = len(rows.labels)
    kept: list[list[Solution]] = []
    for resample in range(bootstrap):
        drawn = rows.at(Rng(seed, "bootstrap", resample).integers(number, number))
        solutions = [ESTIMATORS[name].solve(drawn) for name in names]
        if all(solution.T.isfinite().all() for solution in solutions):
            kept.append(solutions)
    if len(kept) < bootstrap / 2:
        raise InputError(
            f"{bootstrap - len(kept)} of {bootstrap} resamples have no example left of some class; "
            "give more examples of rare classes, or bootstrap=0 for no intervals"
        )
    return {
        name: Solution(*map(torch.stack, zip(*solutions, strict=True)))
        for name, solutions in zip(names, zip(*kept, strict=True), strict=True)
    }


def _intervals(drawn: Solution, level: float) -> tuple[Interval, Interval]:
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    quantiles = partial(torch.quantile, q=ends, dim=0)
    by_row = [quantiles(row) for row in drawn.T.unbind(1)]  # torch refuses more than 16 million numbers at once
    return Interval(*torch.stack(by_row, 1)), Interval(*quantiles(drawn.rate))


def _cells(name: str, estimate: Estimate) -> list[str]:
    interval, error, diagonal = estimate.rate_interval, estimate.error, estimate.T.diagonal()
    return [
        name,
        f"{estimate.rate:.4f}",
        "" if interval is None else f"{interval.low:.4f} to {interval.high:.4f}",
        f"{diagonal.min():.3f} to {diagonal.max():.3f}",
        "" if error is None else f"{error.mean_absolute:.4f}",
    ]
