"""How often the audit's interval holds the share of wrong labels of a few hundred images, by networks it trains itself.

    python benchmarks/audit_few.py [--rows 600] [--repeats 4] [--first 100] [--only digits]

scikit-learn's digits, each pixel made four, and MNIST and Fashion-MNIST, which must be in the data root; `--repeats`
draws of rows and of five kinds of noise from seed `--first` on.
"""

import click
import numpy as np

from labelnoise import audit
from labelnoise.data.dataset import load
from labelnoise.noise import flip, pair, symmetric

SETS = ("digits", "mnist", "fashion_mnist")
NOISES = (("none", symmetric, 0.0), ("symmetric", symmetric, 0.1), ("symmetric", symmetric, 0.3))
NOISES += (("pair", pair, 0.1), ("pair", pair, 0.3))


def images(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some images (rows, H, W) with their true labels."""
    data = load(name, 0)
    assert data.y_true is not None
    some = np.random.default_rng(1000 + seed).permutation(len(data))[:rows]
    x, true = data.x[some].numpy()[:, 0], data.y_true[some].long().numpy()
    return np.round(np.kron(x, np.ones((2, 2))) * 255).astype(np.uint8) if name == "digits" else x, true


def trial(x: np.ndarray, true: np.ndarray, given: np.ndarray, seed: int) -> tuple[float, ...]:
    """Whether the interval holds the truth, lies above or below it, and how far the estimate and both ends are off."""
    found, wrong = audit(x, given, seed=seed), (given != true).mean()
    low, high = found.noise_rate_interval
    return low <= wrong <= high, low > wrong, high < wrong, found.noise_rate - wrong, low - wrong, high - wrong


@click.command()
@click.option("--rows", default=600, help="Images of each trial.")
@click.option("--repeats", default=4, help="Trials of each set and kind of noise.")
@click.option("--first", default=100, help="Seed of the first trial.")
@click.option("--only", default="", help="Only sets whose name begins so.")
def main(*, rows: int, repeats: int, first: int, only: str) -> None:
    click.echo(
        "| set | noise | interval holds | above | below | mean error | its ends less the truth |\n" + "|---" * 7 + "|"
    )
    for name in (each for each in SETS if each.startswith(only)):
        for kind, make, rate in NOISES:
            found = []
            for seed in range(first, first + repeats):
                x, true = images(name, rows, seed)
                found.append(trial(x, true, np.asarray(flip(true, make(10, rate), seed=seed)), seed))
            held, above, below, off, low, high = np.array(found).T
            ends = f"{low.mean():+.3f} to {high.mean():+.3f}"
            counts = f"{held.sum():.0f} of {repeats} | {above.sum():.0f} | {below.sum():.0f}"
            click.echo(f"| {name} | {kind} {rate:.0%} | {counts} | {off.mean():+.3f} | {ends} |")


if __name__ == "__main__":
    main()
