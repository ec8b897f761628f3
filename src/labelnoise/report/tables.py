"""The comparison of methods: test accuracy as mean and spread over seeds, for three ways to pick an epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from rich.console import Console
from rich.table import Table

from labelnoise.results.record import Record
from labelnoise.results.select import SELECTIONS, TEST, accuracy_on_test

MEANING = {
    "last": "after the last epoch",
    "selected": "epoch chosen on noisy validation",
    "oracle": "best epoch on the test part itself, which nobody can choose in practice",
}


@dataclass(frozen=True)
class Row:
    """One method's figures: selection rule -> one accuracy per run."""

    method: str
    runs: int
    failed: int
    accuracies: dict[str, list[float]]


def compare(records: Sequence[Record], failed: Mapping[str, str] | None = None) -> list[Row]:
    """Rows in the order in which the methods first occur; failed runs, by identity, are counted and left out."""
    stopped = failed or {}
    histories: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        runs = histories.setdefault(record.method, {})
        if record.run not in stopped:
            runs.setdefault(record.run, []).append(record)
    for method in stopped.values():
        histories.setdefault(method, {})
    return [
        Row(method, len(runs), list(stopped.values()).count(method), _accuracies(list(runs.values())))
        for method, runs in histories.items()
    ]


def _accuracies(histories: Sequence[Sequence[Record]]) -> dict[str, list[float]]:
    return {rule.name: [accuracy_on_test(rule.pick(history)) for history in histories] for rule in SELECTIONS}


def spread(values: Sequence[float]) -> str:
    """Per cent, as mean and sample standard deviation; of a single value there is no spread."""
    hundred = [100 * value for value in values]
    if len(hundred) > 1:
        return f"{mean(hundred):.1f} ± {stdev(hundred):.1f}"
    return f"{hundred[0]:.1f}" if hundred else "–"


def show(
    records: Sequence[Record],
    what: str,
    noise_rates: Sequence[float | None],
    console: Console,
    failed: Mapping[str, str] | None = None,
) -> None:
    """Print the comparison: what it is of, the table, and what its columns mean."""
    labels = "true labels" if all(TEST[0] in record.measures for record in records) else "given labels"
    known = [rate for rate in noise_rates if rate is not None]
    wrong = f"{100 * mean(known):.1f} % of the training labels are wrong" if known else "noise rate unknown"
    lines = f"\n{what}: {wrong}\ntest accuracy in % against {labels}, mean ± std over seeds"
    console.print(lines, highlight=False, markup=False, soft_wrap=True)
    console.print(table(compare(records, failed)))
    for name, meaning in MEANING.items():
        console.print(f"{name}: {meaning}", highlight=False, soft_wrap=True)


def table(rows: Sequence[Row]) -> Table:
    """The figures for a terminal."""
    result = Table()
    result.add_column("method")
    result.add_column("runs", justify="right")
    for rule in SELECTIONS:
        result.add_column(rule.name, justify="right")
    for row in rows:
        result.add_row(row.method, _count(row), *(spread(row.accuracies[rule.name]) for rule in SELECTIONS))
    return result


def _count(row: Row) -> str:
    return f"{row.runs} of {row.runs + row.failed}" if row.failed else str(row.runs)
