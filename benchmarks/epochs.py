"""Which epochs' predictions find wrong labels best: the last ten, the best one, or all up to where their mean is best.

    python benchmarks/epochs.py [--seeds 3] [--method gce]

Average precision of finding wrong labels by the probability of the given one, for rows that networks of five folds have
left aside. The best one is the epoch at which all folds together predict most given labels.
"""

import click
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import average_precision_score
from torch import Tensor

from labelnoise.crossfit import train as training
from labelnoise.crossfit.cut import cut
from labelnoise.crossfit.watch import Watch
from labelnoise.data import read
from labelnoise.data.dataset import Dataset
from labelnoise.engine.observer import EpochResult
from labelnoise.methods.notation import from_text
from labelnoise.noise import flip, pair, symmetric

TABLES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
NOISE = {"symmetric": symmetric, "pair": pair}
RULES = ("last ten", "best one", "up to the best")


class Keeper(Watch):
    """Keeps what networks say after each epoch."""

    kept: list[Tensor]  # (R, n, K) each

    def finished_epoch(self, result: EpochResult) -> None:
        """Add it."""
        super().finished_epoch(result)
        self.kept.append(torch.cat([log_probs.exp() for log_probs, _ in self._said("validation")], dim=1))


def found(dataset: Dataset, method: str, seed: int) -> dict[str, Tensor]:
    Keeper.kept, given = [], dataset.y_given
    splits = cut(given, 5, seed)
    net, train = training.suited(dataset, len(splits[0].train))
    plan = training.Plan(dataset, splits, net, {}, train, seed, torch.device("cpu"))
    result = training.crossfit(from_text(method), plan)
    each = torch.zeros(len(Keeper.kept), *result.probs.shape)  # (epochs, n, K)
    for fold, split in enumerate(splits):
        each[:, split.validation] = torch.stack([said[fold] for said in Keeper.kept])
    best = each[(each.argmax(2) == given).double().mean(1).argmax()]
    return dict(zip(RULES, (each[-10:].mean(0), best, result.probs), strict=True))


def precision(dataset: Dataset, true: Tensor, probs: Tensor) -> float:
    own = probs.gather(1, dataset.y_given[:, None]).squeeze(1)
    return float(average_precision_score((dataset.y_given != true).numpy(), -own.numpy()))


@click.command()
@click.option("--seeds", default=3)
@click.option("--method", default="gce")
def main(seeds: int, method: str) -> None:
    training.Watch = Keeper
    click.echo(f"| data | noise | {' | '.join(RULES)} |\n|---|---|---|---|---|")
    for name, load in TABLES.items():
        x, y = load(return_X_y=True)
        true, classes = torch.from_numpy(y), int(y.max()) + 1
        for noise in ("symmetric:0.1", "symmetric:0.3", "pair:0.2"):
            kind, rate = noise.split(":")
            figures = []
            for seed in range(seeds):
                dataset = read(x, y=flip(true, NOISE[kind](classes=classes, rate=float(rate)), seed=seed).numpy())
                figures.append([precision(dataset, true, probs) for probs in found(dataset, method, seed).values()])
            click.echo(f"| {name} | `{noise}` | {' | '.join(f'{mean:.3f}' for mean in np.mean(figures, 0))} |")


if __name__ == "__main__":
    main()
