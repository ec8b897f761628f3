"""The comparison of methods as a table: test accuracy, mean and spread over seeds, for three ways to pick an epoch."""

from collections.abc import Sequence
from statistics import mean, stdev

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelnoise.report.summary import Row, Summary
from labelnoise.results.select import SELECTIONS

MEANING = {
    "last": "after the last epoch",
    "selected": "epoch chosen on noisy validation",
    "oracle": "best epoch on the test part itself, which nobody can choose in practice: not to be quoted as a result",
    "balanced": "mean over classes of the share found (recall), at the selected epoch; the report shows each class",
}


def spread(values: Sequence[float]) -> str:
    """Per cent, as mean and sample standard deviation; of a single value there is no spread."""
    hundred = [100 * value for value in values]
    if len(hundred) > 1:
        return f"{mean(hundred):.1f} ± {stdev(hundred):.1f}"
    return f"{hundred[0]:.1f}" if hundred else "–"


def count(row: Row) -> str:
    """How many runs the figures are of."""
    return f"{row.runs} of {row.runs + row.failed}" if row.failed else str(row.runs)


def show(summary: Summary, console: Console) -> None:
    """Print the comparison: what it is of, the table, and what its columns and marks mean."""
    lines = [f"\n{summary.title}: {summary.noise_rate}", head(summary)]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
    console.print(table(summary))
    explained = [f"{name}: {MEANING[name]}" for name in summary.columns]
    notes = [note.replace("Marked:", "*:") for note in summary.notes]
    console.print("\n".join(explained + notes), highlight=False, markup=False, soft_wrap=True)


def head(summary: Summary) -> str:
    """What the figures are."""
    return f"test accuracy in % against {summary.reference}, mean ± std over seeds"


def table(summary: Summary) -> Table:
    """The figures for a terminal."""
    tight = len(summary.columns) > len(SELECTIONS)  # to fit into eighty characters
    result = Table(collapse_padding=tight, pad_edge=not tight)
    result.add_column("method")
    result.add_column("runs", justify="right")
    for name in summary.columns:
        result.add_column(name, justify="right")
    for row in summary.rows:
        result.add_row(Text(row.label), count(row), *(_figure(row, name) for name in summary.columns))
    return result


def markdown(summary: Summary) -> str:
    """The figures as a table for a document, marked ones in bold."""
    columns = summary.columns
    lines = [f"| method | runs | {' | '.join(columns)} |", "|---|--:|" + "--:|" * len(columns)]
    for row in summary.rows:
        figures = {name: spread(values) for name, values in row.accuracies.items()}
        cells = [f"**{text}**" if row.not_worse[name] else text for name, text in figures.items()]
        lines.append("| " + " | ".join([row.label.replace("|", r"\|"), count(row), *cells]) + " |")
    return f"{summary.title}: {summary.noise_rate}; {head(summary)}\n\n" + "\n".join(lines) + "\n"


def _figure(row: Row, column: str) -> Text:
    figure = spread(row.accuracies[column])
    return Text(f"* {figure}", style="bold") if row.not_worse[column] else Text(figure)
