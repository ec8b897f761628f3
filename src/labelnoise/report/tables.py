"""The comparison of methods: test accuracy as mean and spread over seeds, for three ways to pick an epoch."""

from collections.abc import Sequence
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
    accuracies: dict[str, list[float]]


def compare(records: Sequence[Record]) -> list[Row]:
    """Rows in the order in which the methods first occur."""
    histories: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        histories.setdefault(record.method, {}).setdefault(record.run, []).append(record)
    return [
        Row(
            method,
            len(runs),
            {rule.name: [accuracy_on_test(rule.pick(h)) for h in runs.values()] for rule in SELECTIONS},
        )
        for method, runs in histories.items()
    ]


def spread(values: Sequence[float]) -> str:
    """Per cent, as mean and sample standard deviation; of a single value there is no spread."""
    hundred = [100 * value for value in values]
    return f"{mean(hundred):.1f} ± {stdev(hundred):.1f}" if len(hundred) > 1 else f"{hundred[0]:.1f}"


def show(records: Sequence[Record], what: str, noise_rates: Sequence[float], console: Console) -> None:
    """Print the comparison: what it is of, the table, and what its columns mean."""
    labels = "true labels" if all(TEST[0] in record.measures for record in records) else "given labels"
    wrong = f"{100 * mean(noise_rates):.1f} % of the training labels are wrong" if noise_rates else "noise rate unknown"
    lines = f"\n{what}: {wrong}\ntest accuracy in % against {labels}, mean ± std over seeds"
    console.print(lines, highlight=False, markup=False, soft_wrap=True)
    console.print(table(compare(records)))
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
        result.add_row(row.method, str(row.runs), *(spread(row.accuracies[rule.name]) for rule in SELECTIONS))
    return result
