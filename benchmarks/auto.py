"""`method="auto"` of the classifier against each single method, with 30 % of the labels wrong.

    python benchmarks/auto.py [--usps usps.npz] [--rows 600] [--seeds 5] [--first 0] [--rate 0.3]

A third of the rows, with right labels, is for the test. Of the others at most `--rows` are learnt from, after labels
were changed to another class at random. Accuracies are means over seeds, which change split, noise and networks.
The file is any .npz with x and y, or x_train, y_train, x_test and y_test; without one there are three data sets.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from labelnoise import NoisyLabelClassifier
from labelnoise.data import read
from labelnoise.noise import flip, symmetric

SINGLE = ("gce", "forward", "logistic_normal", "ce", "co_teaching", "bi_tempered")
TABLES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
Rows = tuple[NDArray[np.float32], NDArray[np.int64]]


def data_sets(usps: Path | None) -> Iterator[tuple[str, Rows]]:
    for name, load in TABLES.items():
        yield name, load(return_X_y=True)
    if usps is not None:
        held = read(usps)
        yield usps.stem, (held.x.flatten(1).float().numpy(), held.y_given.numpy())


def accuracies(rows: Rows, seed: int, most: int, rate: float) -> dict[str, float]:
    x, x_test, y, y_test = train_test_split(*rows, test_size=1 / 3, random_state=seed, stratify=rows[1])
    x, y = x[:most], torch.from_numpy(y[:most])
    given = flip(y, symmetric(classes=int(rows[1].max()) + 1, rate=rate), seed=seed).numpy()
    fitted = {name: NoisyLabelClassifier(name, random_state=seed).fit(x, given) for name in (*SINGLE, "auto")}
    click.echo(f"  seed {seed}: {fitted['auto'].choice_}", err=True)
    return {name: 100 * each.score(x_test, y_test) for name, each in fitted.items()}


def row(name: str, means: dict[str, float]) -> str:
    below = max(means[method] for method in SINGLE) - means["auto"]
    return f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means.values())} | {below:.1f} |"


@click.command()
@click.option("--usps", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rows", default=600)
@click.option("--seeds", default=5)
@click.option("--first", default=0, help="The first seed.")
@click.option("--rate", default=0.3)
def main(usps: Path | None, rows: int, seeds: int, first: int, rate: float) -> None:
    tables: list[dict[str, float]] = []
    click.echo(f"| data | {' | '.join(SINGLE)} | auto | below the best |")
    click.echo("|---" * (len(SINGLE) + 3) + "|")
    for name, held in data_sets(usps):
        each = [accuracies(held, seed, rows, rate) for seed in range(first, first + seeds)]
        means = {method: float(np.mean([found[method] for found in each])) for method in each[0]}
        tables.append(means)
        click.echo(row(name, means))
    click.echo(row("mean", {method: float(np.mean([means[method] for means in tables])) for method in tables[0]}))
    gaps = [max(means[method] for method in SINGLE) - means["auto"] for means in tables]
    click.echo(f"\nBelow the best of each data set, on average: {np.mean(gaps):.2f} points")


if __name__ == "__main__":
    main()
