"""What helps more against wrong labels: a robust method, an audit that cleans, a person who reviews, or several.

    python benchmarks/cleaning.py [--data digits,breast_cancer] [--noise symmetric:0.1,pair:0.2] [--seeds 3]

Test accuracy in per cent against true labels, mean ± standard deviation over seeds. A third of the rows is for the
test; the labels of the others are made wrong, audited and learnt from. `dropped` and `relabelled` are what the audit
alone decides, that is, rows that are likelier wrong than right. `reviewed` is a person who looks at as many rows as the
audit expects to be wrong, the most suspicious first, and knows the right label. `true labels` are what could be had.
"""

from collections.abc import Mapping, Sequence

import click
import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.model_selection import train_test_split

from labelnoise import NoisyLabelClassifier, audit
from labelnoise.auditing.result import LIKELY
from labelnoise.noise import flip, parse

Labels = NDArray[np.int64]


def cleaned(x: NDArray[np.float64], given: Labels, true: Labels, seed: int) -> Mapping[str, tuple[Labels, Labels]]:
    """The ways to go on: the rows that are learnt from, and their labels."""
    found = audit(x, given, seed=seed)
    wrong = found.issues["wrong_probability"].to_numpy()
    rows, likely = np.arange(len(given)), wrong > LIKELY
    relabelled = np.where(likely, found.issues["suggested"].astype(np.int64), given)
    first = np.argsort(-wrong, kind="stable")[: round(found.noise_rate * len(given))]
    reviewed = given.copy()
    reviewed[first] = true[first]
    return {
        "as given": (rows, given),
        "dropped": (rows[~likely], given[~likely]),
        "relabelled": (rows, relabelled),
        "reviewed": (rows, reviewed),
        "true labels": (rows, true),
    }


def accuracies(
    rows: tuple[NDArray[np.float64], Labels], noise: str, methods: Sequence[str], seed: int
) -> dict[str, dict[str, float]]:
    """By method and way to go on."""
    x, x_test, true, y_test = train_test_split(*rows, test_size=1 / 3, random_state=seed, stratify=rows[1])
    given = np.asarray(flip(true, parse(noise, len(np.unique(true))).T, seed=seed))
    ways = cleaned(x, given, true, seed)

    def score(method: str, way: str) -> float:
        kept, labels = ways[way]
        fitted = NoisyLabelClassifier(method, random_state=seed).fit(x[kept], labels)
        return 100 * fitted.score(x_test, y_test)

    return {method: {way: score(method, way) for way in ways} for method in methods}


def spread(found: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(found):.1f} ± {np.std(found, ddof=1):.1f}"


@click.command()
@click.option("--data", default="digits,breast_cancer")
@click.option("--noise", default="symmetric:0.1,symmetric:0.3,pair:0.2")
@click.option("--methods", default="ce,gce")
@click.option("--seeds", default=3)
def main(*, data: str, noise: str, methods: str, seeds: int) -> None:
    """Print a table."""
    print("| data | noise | method | as given | dropped | relabelled | reviewed | true labels |")
    print("|---" * 8 + "|")
    for name in data.split(","):
        rows = getattr(datasets, f"load_{name}")(return_X_y=True)
        for kind in noise.split(","):
            found = [accuracies(rows, kind, methods.split(","), seed) for seed in range(seeds)]
            for method in found[0]:
                cells = (spread([each[method][way] for each in found]) for way in found[0][method])
                print(f"| {name} | `{kind}` | `{method}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
