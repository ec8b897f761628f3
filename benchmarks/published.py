"""Cells of a published table, trained by the paper's recipe and set beside the published figures.

    python benchmarks/published.py logistic_normal table1 --data mnist --noise random:0.4:exact --method CE --method LN

Every noise gets a folder under `--out`, which can be taken up again. Accuracies are in per cent, of the last epoch, the
last ten or the selected one, as the paper has them; p is that of the pooled two-sided t-test against the published mean
and std.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

import click
from scipy.stats import ttest_ind_from_stats

from labelnoise import compare_methods
from labelnoise.papers import Cell, Paper, paper
from labelnoise.results.record import Record
from labelnoise.results.select import SELECTIONS, accuracy_on_test, last_ten


def beside(cell: Cell, reached: Sequence[float], seeds: int) -> str:
    """One line of the table."""
    ours = mean(reached), stdev(reached), len(reached)
    line = (
        f"{cell.data} {cell.noise:<22} {cell.method:<8} ours {ours[0]:5.2f} ± {ours[1]:.2f}, published {cell.mean:5.2f}"
    )
    if cell.std is None:
        return line
    return line + f" ± {cell.std:.2f}, p {ttest_ind_from_stats(*ours, cell.mean, cell.std, seeds).pvalue:.3f}"


def accuracy(records: Sequence[Record], reported: str) -> float:
    """Of the epoch, or the ten, that the paper reports."""
    if reported == "last_ten":
        return last_ten(records)
    (rule,) = (rule for rule in SELECTIONS if rule.name == reported)
    return accuracy_on_test(rule.pick(records))


def trained(source: Paper, cells: Sequence[Cell], seeds: int, out: Path) -> list[Sequence[float]]:
    """Accuracies in per cent, as the paper reports them, of the cells of one column."""
    data, noise = cells[0].data, cells[0].noise
    settings = source.settings(data, noise, [cell.method for cell in cells]) | {"seeds": seeds}
    rows = {row.method: row for row in compare_methods(data, settings=settings, out=out).summary.rows}
    found = [rows[source.method(cell.method, data, noise).name].finished for cell in cells]
    return [[100 * accuracy(run.records, source.facts["protocol"]["reported"]) for run in runs] for runs in found]


@click.command()
@click.argument("name")
@click.argument("table")
@click.option("--data", required=True)
@click.option("--noise", multiple=True, required=True)
@click.option("--method", "methods", multiple=True, required=True, help="as the paper calls it")
@click.option("--seeds", default=3, type=click.IntRange(min=2))
@click.option("--out", default="runs/published", type=click.Path(path_type=Path))
def main(
    name: str, table: str, *, data: str, noise: tuple[str, ...], methods: tuple[str, ...], seeds: int, out: Path
) -> None:
    """Train and print one line for each cell."""
    source = paper(name)
    lines = []
    published = {(cell.data, cell.noise, cell.method): cell for cell in source.published(table)}
    if missing := [key for each in noise for method in methods if (key := (data, each, method)) not in published]:
        raise click.ClickException(f"{table} has no cell {', '.join(missing[0])}; it has {len(published)} others")
    for each in noise:
        column = [published[data, each, method] for method in methods]
        folder = out / f"{data}-{each.replace(':', '-')}"
        found = trained(source, column, seeds, folder)
        lines += [beside(*pair, source.facts["protocol"]["seeds"]) for pair in zip(column, found, strict=True)]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
