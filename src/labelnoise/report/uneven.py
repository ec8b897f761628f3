"""Classes of very different size, of which accuracy says little: whether they are, and which are never predicted."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from labelnoise.data.rows import counted
from labelnoise.results.store import Run
from labelnoise.sweep.headline import listed

UNEVEN = 4  # times as many rows as the smallest class that the largest has, at least
NAMED = 3  # classes, before the rest is counted


def confusions(runs: Iterable[Run]) -> list[Tensor]:
    """Rows of the test part by label and prediction, (K, K), of each run in which they were counted."""
    return [run.details["test_confusion"] for run in runs if "test_confusion" in run.details]


def is_uneven(counts: Sequence[Tensor]) -> bool:
    """Whether the largest class has at least four times the rows of some other that occurs."""
    sizes = _sizes(counts)
    return bool((sizes.max() >= UNEVEN * sizes[sizes > 0]).any())


def one_class_alone(counts: Sequence[Tensor], names: Sequence[str]) -> str:
    """What accuracy and balanced accuracy are worth here, as a sentence."""
    sizes = _sizes(counts)
    share, balanced = sizes.max() / sizes.sum(), 1 / (sizes > 0).sum()
    return (
        f"Classes differ much in size: to predict nothing but class {listed([names[int(sizes.argmax())]])} would give "
        f"{100 * share:.1f} %, and {100 * balanced:.1f} % balanced."
    )


def never_predicted(label: str, runs: Iterable[Run], names: Sequence[str]) -> list[str]:
    """A sentence on classes of the test part that some of these runs never predict, if there are such classes."""
    counts = confusions(runs)
    missed = [(each.sum(1) > 0) & (each.sum(0) == 0) for each in counts]
    often = torch.stack(missed).sum(0).tolist() if missed else []
    classes = sorted((k for k, times in enumerate(often) if times), key=lambda k: -often[k])
    if not classes:
        return []
    told = [f"{listed([names[k]])} (in {often[k]} of {counted(len(counts), 'run')})" for k in classes[:NAMED]]
    more = f" and {len(classes) - NAMED} more" if len(classes) > NAMED else ""
    noun = "class" if len(classes) == 1 else "classes"
    return [f"On the test part {label} never predicts {noun} {', '.join(told)}{more}."]


def _sizes(counts: Sequence[Tensor]) -> Tensor:
    return torch.stack([*counts]).sum((0, 2))
