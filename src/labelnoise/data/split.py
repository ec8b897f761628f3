"""Three parts of a data set, train, noisy validation and test: stratified by given label, seeded."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from labelnoise.config import Split
from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.rng import uniforms


class Splits(NamedTuple):
    """Row numbers of the three parts, each in ascending order."""

    train: Tensor
    validation: Tensor
    test: Tensor


def split(dataset: Dataset, fractions: Split, seed: int) -> Splits:
    """Cut the rows in three, stratified by given label; a class with three rows or more is in every part.

    Of a rarer class the first row goes to train. Each class gives its share rounded down or up, whichever keeps the sum
    over the classes so far closer to the asked one. Where the data keep rows for the test themselves, these are the
    test part, and train and validation share the rest in the same proportion as without them. Of the rows to be cut
    only some are drawn, where so many are asked for.
    """
    learnable, draws = dataset.learnable, uniforms(len(dataset), seed, "split")
    order = learnable[torch.from_numpy(np.argsort(draws[learnable.numpy()], kind="stable"))]
    shares = (fractions.validation, fractions.test)
    if dataset.test is not None:
        shares = (fractions.validation / (1 - fractions.test), 0.0)
    if fractions.rows > len(order):
        raise InputError(f"split.rows is {fractions.rows}, but {dataset.name!r} has only {len(order)} rows to split")
    order = order[: fractions.rows or None]
    labels = dataset.y_given[order]
    sizes = torch.bincount(labels, minlength=len(dataset.classes)).tolist()
    parts: tuple[list[Tensor], ...] = ([], [], [])
    for label, counts in enumerate(_counts(sizes, shares)):
        for part, rows in zip(parts, torch.split(order[labels == label], counts), strict=True):
            part.append(rows)
    if dataset.test is not None:
        parts[2].append(dataset.test)
    splits = Splits(*(torch.cat(part).sort().values for part in parts))
    for name, rows in zip(Splits._fields, splits, strict=True):
        if not len(rows):
            raise InputError(f"the {name} part of data set {dataset.name!r} is empty; {len(dataset)} rows are too few")
    return splits


def absent(dataset: Dataset, splits: Splits) -> list[str]:
    """A sentence for each class that is in the data but not in every part."""
    counts = {
        name: torch.bincount(dataset.y_given[rows], minlength=len(dataset.classes)).tolist()
        for name, rows in zip(Splits._fields, splits, strict=True)
    }
    missing = {label: [part for part in counts if not counts[part][label]] for label in range(len(dataset.classes))}
    return [
        f"class {dataset.classes[label]!r} is rare, {sum(count[label] for count in counts.values())} in all, "
        f"and missing from {' and '.join(parts)}"
        for label, parts in missing.items()
        if parts
    ]


def _counts(sizes: Sequence[int], shares: tuple[float, float]) -> Iterator[list[int]]:
    # rows for train, validation and test, class by class
    owed = [0.0, 0.0]
    for size in sizes:
        taken = [0, 0]
        for part, share in enumerate(shares):
            least = int(size >= 3 and share > 0)
            kept_back = 1 + (least if part == 0 and shares[1] > 0 else 0) + sum(taken)
            owed[part] += size * share
            taken[part] = _rounded(size * share, owed[part], least, size - kept_back)
            owed[part] -= taken[part]
        yield [size - sum(taken), *taken]


def _rounded(share: float, owed: float, least: int, most: int) -> int:
    # what is owed, as far as the class's own share rounded down or up, and then the bounds, allow
    near = min(max(round(owed), math.floor(share)), math.ceil(share))
    return max(least, min(near, most))
