"""How often the audit's interval holds the share of wrong labels of a few hundred images, by networks it trains itself.

    python benchmarks/audit_few.py [--rows 600] [--repeats 4] [--first 100] [--only digits] [--noise none]

scikit-learn's digits, each pixel made four, and MNIST, Fashion-MNIST and the photos of CIFAR-10, which must be in the
data root; `--repeats` draws of rows and of five kinds of noise from seed `--first` on. Dropped are rows that the audit
alone would leave out. A trial with photos takes minutes.
"""

import click
import numpy as np

from labelnoise import audit
from labelnoise.auditing.result import LIKELY
from labelnoise.data.dataset import load
from labelnoise.noise import flip, pair, symmetric

SETS = ("digits", "mnist", "fashion_mnist", "cifar10")
NOISES = (("none", symmetric, 0.0), ("symmetric", symmetric, 0.1), ("symmetric", symmetric, 0.3))
NOISES += (("pair", pair, 0.1), ("pair", pair, 0.3))


def images(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some images, (rows, H, W) or of colours (rows, H, W, 3), with their true labels."""
    data = load(name, 0)
    assert data.y_true is not None
    some = np.random.default_rng(1000 + seed).permutation(len(data))[:rows]
    x, true = data.x[some].numpy(), data.y_true[some].long().numpy()
    if name == "digits":
        return np.round(np.kron(x[:, 0], np.ones((2, 2))) * 255).astype(np.uint8), true
    return x.transpose(0, 2, 3, 1) if x.shape[1] == 3 else x[:, 0], true


def trial(x: np.ndarray, true: np.ndarray, given: np.ndarray, seed: int) -> tuple[float, ...]:
    """Whether the interval holds the truth, how far the estimate and both ends are off, rows dropped and right ones."""
    found, wrong = audit(x, given, seed=seed), given != true
    low, high = found.noise_rate_interval
    dropped = (found.issues["wrong_probability"].to_numpy() > LIKELY) & found.rate_known
    off = [each - wrong.mean() for each in (found.noise_rate, low, high)]
    return low <= wrong.mean() <= high, *off, dropped.sum(), (dropped & ~wrong).sum()


@click.command()
@click.option("--rows", default=600, help="Images of each trial.")
@click.option("--repeats", default=4, help="Trials of each set and kind of noise.")
@click.option("--first", default=100, help="Seed of the first trial.")
@click.option("--only", default="", help="Only sets whose name begins so.")
@click.option("--noise", default="", help="Only kinds of noise that begin so, such as none.")
def main(*, rows: int, repeats: int, first: int, only: str, noise: str) -> None:
    click.echo(
        "| set | noise | interval holds | mean error | its ends less the truth | dropped, right among them |\n"
        + "|---" * 6
        + "|"
    )
    for name in (each for each in SETS if each.startswith(only)):
        for kind, make, rate in (each for each in NOISES if each[0].startswith(noise)):
            found = []
            for seed in range(first, first + repeats):
                x, true = images(name, rows, seed)
                found.append(trial(x, true, np.asarray(flip(true, make(10, rate), seed=seed)), seed))
            held, off, low, high, dropped, right = np.array(found).T
            ends = f"{low.mean():+.3f} to {high.mean():+.3f}"
            rows_left_out = f"{dropped.mean():.0f}, {right.mean():.0f}"
            counts = f"{held.sum():.0f} of {repeats}"
            click.echo(f"| {name} | {kind} {rate:.0%} | {counts} | {off.mean():+.3f} | {ends} | {rows_left_out} |")


if __name__ == "__main__":
    main()
