"""How often the audit's 95 % intervals hold what is known: T, entry by entry, the noise rate, and precision at k.

    python benchmarks/audit_intervals.py [--repeats 40] [--first 0]

Digits with four kinds of noise, `--repeats` draws of each from seed `--first` on; probabilities as in `audit.py`.
"""

import click
import numpy as np

from audit import drawn, out_of_fold
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.examine import examine
from labelnoise.auditing.result import Audit
from labelnoise.data.dataset import load
from labelnoise.noise.corrupt import noise_for

NOISES = ("symmetric:0.1", "symmetric:0.3", "asymmetric:0.2", "pair:0.2")


def held_of_matrix(found: Audit, T: np.ndarray) -> list[float]:
    """Of the diagonal, of pairs of classes that are mixed up, and of pairs that are not."""
    low, high = (each.to_numpy() for each in found.transition_interval)
    held, own = (low <= T) & (high >= T), np.eye(len(T), dtype=bool)
    kinds = (own, ~own & (T > 0), ~own & (T == 0))
    return [held[kind].mean() if kind.any() else np.nan for kind in kinds]


def held_of_precision(found: Audit, wrong: np.ndarray) -> np.ndarray:
    table, order = found.precision, np.argsort(-found.issues.wrong_probability.to_numpy())
    known = np.cumsum(wrong[order])[table.index - 1] / table.index.to_numpy()
    return ((table.planted_low <= known) & (known <= table.planted_high)).to_numpy()


@click.command()
@click.option("--repeats", default=40, help="Draws of each kind of noise.")
@click.option("--first", default=0, help="Seed of the first draw.")
def main(*, repeats: int, first: int) -> None:
    click.echo(
        "| noise | diagonal of T | pairs mixed up | other pairs | mean width | noise rate | precision, worst k |"
    )
    click.echo("|---" * 7 + "|")
    for noise in NOISES:
        known = noise_for(load("digits", 0), noise).T
        assert known is not None
        cells, precision, widths = [], [], []
        for seed in range(first, first + repeats):
            data = drawn("digits", noise, 10_000, seed)
            wrong = data.given != data.true
            found = examine(Evidence(data.given, out_of_fold(data, 20, seed), data.classes), seed=seed)
            low, high = found.noise_rate_interval
            cells.append([*held_of_matrix(found, known.probs.numpy()), low <= wrong.mean() <= high])
            precision.append(held_of_precision(found, wrong))
            width = (found.transition_interval[1] - found.transition_interval[0]).to_numpy()
            widths.append(width[~np.eye(len(width), dtype=bool)].mean())
        own, mixed, others, rate = (f"{each:.3f}" for each in np.mean(cells, 0))
        worst = np.mean(precision, 0).min()
        click.echo(f"| {noise} | {own} | {mixed} | {others} | {np.mean(widths):.3f} | {rate} | {worst:.3f} |")


if __name__ == "__main__":
    main()
