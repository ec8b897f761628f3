"""The audit against cleanlab, with the same probabilities: which rows are wrong, and how many.

    python benchmarks/audit.py [--rows 10000] [--repeats 10] [--digits 40] [--only fashion_mnist] [--large] [--trained]

Probabilities come from five folds of a small network trained with cross-entropy on the wrong labels. Average precision
is that of the first seed, against the known wrong rows; the interval of the noise rate is judged over all seeds.
`mnist`, `fashion_mnist`, `cifar10` and `cifar10n` must be in the data root. cleanlab is in the extra `compare`.
`--large` measures 200,000 rows of 1,000 classes instead, in memory and streamed from a file; `--trained` the whole of
`labelnoise.audit` on digits, with the networks that it trains itself.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import torch
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score
from torch import Tensor, nn

from labelnoise import audit
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.examine import examine
from labelnoise.data.dataset import load
from labelnoise.noise import corrupt

FOLDS = 5
SETS = (  # name, noise, epochs
    ("digits", "symmetric:0.1", 20),
    ("mnist", "symmetric:0.2", 8),
    ("mnist", "asymmetric:0.2", 8),
    ("fashion_mnist", "symmetric:0.2", 8),
    ("fashion_mnist", "pair:0.2", 8),  # asymmetric: each class as the next
    ("cifar10n:worst", "", 8),  # people's labels
)
THEIRS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


class Known(NamedTuple):
    """Some rows of a data set, with labels as given and as they should be."""

    x: Tensor
    given: np.ndarray
    true: np.ndarray
    classes: tuple[str, ...]


def drawn(name: str, noise: str, rows: int, seed: int) -> Known:
    data = load(name, 0)
    if noise:
        data = corrupt(data, noise, seed=seed)
    held = torch.ones(len(data), dtype=torch.bool)
    if data.test is not None:
        held[data.test] = False
    some = held.nonzero()[:, 0]
    some = some[torch.randperm(len(some), generator=torch.Generator().manual_seed(0))[:rows]]
    x = data.x[some].float()
    x = (x - x.mean()) / x.std()
    assert data.y_true is not None
    return Known(x, data.y_given[some].long().numpy(), data.y_true[some].long().numpy(), data.classes)


def network(shape: torch.Size, classes: int) -> nn.Module:
    if shape[0] != 3:
        width = int(np.prod(shape))
        return nn.Sequential(nn.Flatten(), nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, classes))
    layers: list[nn.Module] = []
    for before, after in ((3, 24), (24, 48), (48, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, classes))


def out_of_fold(known: Known, epochs: int, seed: int) -> np.ndarray:
    given, classes = torch.from_numpy(known.given), len(known.classes)
    fold = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed)) % FOLDS
    probs = torch.empty(len(given), classes)
    for each in range(FOLDS):
        torch.manual_seed(seed * FOLDS + each)
        net = network(known.x.shape[1:], classes)
        optimiser = torch.optim.Adam(net.parameters(), 2e-3 if len(given) < 5000 else 1e-3)
        learnt, held = (fold != each).nonzero()[:, 0], fold == each
        for _ in range(epochs):
            for batch in learnt[torch.randperm(len(learnt))].split(64):
                optimiser.zero_grad()
                nn.functional.cross_entropy(net(known.x[batch]), given[batch]).backward()
                optimiser.step()
        with torch.no_grad():
            probs[held] = net(known.x[held]).softmax(1)
    return probs.numpy()


def theirs(probs: np.ndarray, given: np.ndarray, wrong: np.ndarray) -> Iterator[float]:
    """Average precision of cleanlab's scores, and of its issues in their order, followed by the rest."""
    quality = [get_label_quality_scores(given, probs, method=method) for method in THEIRS]
    for each in quality:
        yield average_precision_score(wrong, -each)
    issues = find_label_issues(given, probs, return_indices_ranked_by="self_confidence", n_jobs=1)
    order = 1 - quality[0]
    order[issues] = 2 + np.arange(len(issues), 0, -1)
    yield average_precision_score(wrong, order)


def measure(name: str, noise: str, epochs: int, rows: int, repeats: int) -> list[float]:
    off, half, held, precisions = [], [], 0, []
    for seed in range(repeats):
        known = drawn(name, noise, rows, seed)
        wrong, probs = known.given != known.true, out_of_fold(known, epochs, seed)
        found = examine(Evidence(known.given, probs, known.classes), seed=seed)
        low, high = found.noise_rate_interval
        off.append(found.noise_rate - wrong.mean())
        half.append((high - low) / 2)
        held += low <= wrong.mean() <= high
        if seed == 0:
            precisions = [average_precision_score(wrong, found.issues.wrong_probability)]
            precisions += list(theirs(probs, known.given, wrong))
            accuracy = (probs.argmax(1) == known.true).mean()
            head = f"{name} {noise} | {len(wrong):,} | {wrong.mean():.3f} | {accuracy:.3f}"
            rate = f"{found.noise_rate:.3f} ({low:.3f} to {high:.3f})"
    cells = " | ".join(f"{each:.4f}" for each in precisions)
    click.echo(f"| {head} | {cells} | {rate} | {held} of {repeats} | {np.mean(off):+.3f} | ±{np.mean(half):.3f} |")
    return precisions


def trained(repeats: int) -> None:
    off, held, precisions = [], 0, []
    for seed in range(repeats):
        known = drawn("digits", "symmetric:0.1", 10_000, seed)
        wrong, found = known.given != known.true, audit(known.x.numpy(), known.given, seed=seed)
        low, high = found.noise_rate_interval
        off.append(found.noise_rate - wrong.mean())
        held += low <= wrong.mean() <= high
        precisions.append(average_precision_score(wrong, found.issues.wrong_probability))
    click.echo(
        f"digits symmetric:0.1: the interval holds the truth in {held} of {repeats}, mean error {np.mean(off):+.4f}, "
        f"average precision {np.mean(precisions):.4f} on average, {min(precisions):.4f} at least"
    )


def large() -> None:
    rows, classes = 200_000, 1_000
    rng = np.random.default_rng(0)
    probs = rng.random((rows, classes), dtype=np.float32)
    probs **= 8  # in place, so that the peak of memory is not that of making it
    true = rng.integers(classes, size=rows)
    probs[np.arange(rows), true] += 900 * rng.random(rows, dtype=np.float32)
    probs /= probs.sum(1, keepdims=True)
    given = np.where(rng.random(rows) < 0.2, rng.integers(classes, size=rows), true)
    names = tuple(f"class {each}" for each in range(classes))
    examine(Evidence(given[:200] % 10, np.full((200, 10), 0.1, np.float32), names[:10]))  # wakes everything up
    found = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "probs.npy", probs)
        for how, source in (("memory", probs), ("file", np.load(Path(folder) / "probs.npy", mmap_mode="r"))):
            before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
            found.append(examine(Evidence(given, source, names)))
            seconds = time.perf_counter() - start
            extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
            low, high = found[-1].noise_rate_interval
            click.echo(
                f"{how}: {seconds:.2f} s, {extra:.2f} GiB more at the peak (a file's pages count), "
                f"noise rate {low:.4f} to {high:.4f}, truly {(given != true).mean():.4f}"
            )
    click.echo(f"equal: {found[0].issues.equals(found[1].issues)}")


@click.command()
@click.option("--rows", default=10_000, help="Rows of MNIST, Fashion-MNIST and CIFAR-10N.")
@click.option("--repeats", default=10, help="Seeds for MNIST and Fashion-MNIST.")
@click.option("--digits", default=40, help="Seeds for digits.")
@click.option("--only", default="", help="Only sets whose name begins so.")
@click.option("--large", "wide", is_flag=True, help="200,000 × 1,000 probabilities instead.")
@click.option("--trained", "whole", is_flag=True, help="The whole of labelnoise.audit on digits instead.")
def main(*, rows: int, repeats: int, digits: int, only: str, wide: bool, whole: bool) -> None:
    if wide or whole:
        large() if wide else trained(digits)
        return
    click.echo(
        "| set | rows | wrong | accuracy | AP | self-confidence | normalised margin | weighted entropy "
        "| issues in order | noise rate, first seed | interval holds | mean error | mean width |"
    )
    click.echo("|---" * 13 + "|")
    seeds = {"digits": digits, "cifar10n:worst": 1}
    found = [measure(*each, rows, seeds.get(each[0], repeats)) for each in SETS if each[0].startswith(only)]
    cells = " | ".join(f"{each:.4f}" for each in np.mean(found, 0))
    click.echo(f"| mean | | | | {cells} | | | | |")


if __name__ == "__main__":
    main()
