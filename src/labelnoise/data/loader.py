"""Batches for many runs at once: inputs lie on the device once, an epoch is a permutation of rows per run."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.config import Augment
from labelnoise.data import augment
from labelnoise.data.dataset import Dataset
from labelnoise.data.pictures import Pictures
from labelnoise.data.split import Splits
from labelnoise.errors import InputError
from labelnoise.rng import Rng
from labelnoise.types import Batch

PARTS = ("train", "validation", "test")


class Task(NamedTuple):
    """What one run learns from and is judged by."""

    dataset: Dataset
    splits: Splits
    seed: int


class Part(NamedTuple):
    """One part of every run's data."""

    rows: Tensor  # (R, n) into the pool of inputs
    y_given: Tensor  # (R, n)
    y_true: Tensor | None  # (R, n)

    def every(self, stride: int) -> "Part":
        """Rows 0, stride, 2 stride, …"""
        y_true = None if self.y_true is None else self.y_true[:, ::stride]
        return Part(self.rows[:, ::stride], self.y_given[:, ::stride], y_true)


class Chunk(NamedTuple):
    """Some rows of a part, for evaluation."""

    x: Tensor  # (R, b, ...)
    y_given: Tensor  # (R, b)
    y_true: Tensor | None  # (R, b)


def batches(samples: int, batch: int) -> tuple[int, int]:
    """(steps, size) of an epoch: equal batches no larger than asked, so that every step has the same shape.

    The last one may lack up to steps - 1 rows; they are taken again from the epoch's beginning.
    """
    steps = -(-samples // batch)
    return steps, -(-samples // steps)


def balanced_order(labels: Tensor, classes: int, each: int, rng: Rng) -> Tensor:
    """`each` rows of every class, all in random order; a class with fewer begins anew when it has been gone through."""
    order = rng.permutation(len(labels))
    by_class = order[labels[order].argsort(stable=True)]  # one class after the other, each in random order
    counts = labels.bincount(minlength=classes)
    begins = counts.cumsum(0) - counts
    places = begins[:, None] + torch.arange(each) % counts[:, None]  # (K, each)
    return by_class[places.flatten()][rng.permutation(classes * each)]


class Loader:
    """Serves R runs whose parts have equal sizes; tensors come out with the run axis first."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Augment | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        *,
        balanced: int = 0,
    ) -> None:
        self.settings = settings or Augment()
        self.shape, self.classes = tasks[0].dataset.shape, len(tasks[0].dataset.classes)
        augment.check(self.settings, self.shape)
        self.device = torch.device(device)
        self.dtype = dtype
        self.seeds = [task.seed for task in tasks]
        self.balanced = balanced  # rows of each class in an epoch; 0: every row once
        self._prepared: tuple[tuple[int, int, int] | None, list[Tensor]] = None, []  # epoch, batch, peers; (R, n) each
        offsets = self._hold([task.dataset.x for task in tasks])
        self.parts = {name: self._part(name, tasks, offsets) for name in PARTS}
        if balanced:
            check_every_class(tasks)

    @property
    def samples(self) -> int:
        """Rows in each run's training set."""
        return self.parts["train"].rows.shape[1]

    @property
    def labels(self) -> Tensor:
        """Given labels of the training sets, (R, N)."""
        return self.parts["train"].y_given

    def steps(self, batch: int) -> int:
        """How many there are in an epoch."""
        return batches(self._drawn, batch)[0]

    def prepare(self, epoch: int, batch: int, peers: int = 0) -> None:
        """Draw the order of an epoch that will be asked for next; the device may be at work meanwhile."""
        wanted, length = (epoch, batch, peers), prod(batches(self._drawn, batch))
        if self._prepared[0] != wanted:
            purposes = ["order", *(f"peer{i}" for i in range(peers))]
            self._prepared = wanted, [self._order(purpose, epoch, length) for purpose in purposes]

    def epoch(
        self, epoch: int, batch: int, peers: int = 0, start: int = 0
    ) -> Iterator[tuple[Batch, tuple[Batch, ...]]]:
        """The steps of an epoch from step `start` on: a batch and its peers, all shuffled independently."""
        steps, size = batches(self._drawn, batch)
        self.prepare(epoch, batch, peers)
        _, orders = self._prepared
        rows = [self.parts["train"].rows.gather(1, order) for order in orders]
        draws = [self._draws(epoch, which, steps * size) for which in range(1 + peers)]
        for step, inputs in enumerate(self._served(rows, range(start, steps), size, epoch), start):
            here = slice(step * size, (step + 1) * size)
            first, *rest = (
                self._batch(x, order[:, here], {name: drawn[:, here] for name, drawn in draw.items()})
                for x, order, draw in zip(inputs, orders, draws, strict=True)
            )
            yield first, tuple(rest)

    def chunks(self, part: str, size: int, stride: int = 1) -> Iterator[Chunk]:
        """A part in its own order, without augmentation; with a stride every so-manieth row."""
        rows, y_given, y_true = self.parts[part].every(stride)
        steps = range(-(-rows.shape[1] // size))
        for step, (inputs,) in enumerate(self._served([rows], steps, size)):
            here = slice(step * size, (step + 1) * size)
            x = augment.normalise(self._floats(inputs), self.settings)
            yield Chunk(x, y_given[:, here], None if y_true is None else y_true[:, here])

    def _hold(self, inputs: Sequence[Tensor | Pictures]) -> list[int]:
        # Lays the inputs of all runs into one pool, and says where those of each run begin.
        kept, offsets = _pool([x for x in inputs if isinstance(x, Tensor)])
        self.pool = kept.to(self.device)
        return offsets

    def _served(
        self, rows: Sequence[Tensor], steps: range, size: int, epoch: int | None = None
    ) -> Iterator[list[Tensor]]:
        # For each step the inputs (R, size, ...) of its share of each `rows` (R, n); in an epoch they are trained on.
        for step in steps:
            yield [self.pool[each[:, step * size : (step + 1) * size]] for each in rows]

    def _part(self, name: str, tasks: Sequence[Task], offsets: Sequence[int]) -> Part:
        rows = [getattr(task.splits, name) for task in tasks]
        if len({len(row) for row in rows}) > 1:
            raise InputError(f"the {name} parts of the runs in a pack must have equal sizes")
        given = [task.dataset.y_given[row] for task, row in zip(tasks, rows, strict=True)]
        true = [
            task.dataset.y_true[row] for task, row in zip(tasks, rows, strict=True) if task.dataset.y_true is not None
        ]
        pooled = torch.stack([row + offset for row, offset in zip(rows, offsets, strict=True)])
        y_true = torch.stack(true).to(self.device) if len(true) == len(tasks) else None
        return Part(pooled.to(self.device), torch.stack(given).to(self.device), y_true)

    @property
    def _drawn(self) -> int:
        # rows in an epoch
        return self.classes * self.balanced or self.samples

    def _order(self, purpose: str, epoch: int, length: int) -> Tensor:
        # (R, length), wrapped round where the last batch would lack rows
        streams = [Rng(seed, purpose, epoch) for seed in self.seeds]
        if self.balanced:
            labels = self.labels.cpu()
            orders = [
                balanced_order(given, self.classes, self.balanced, rng)
                for given, rng in zip(labels, streams, strict=True)
            ]
        else:
            orders = [rng.permutation(self.samples) for rng in streams]
        order = torch.stack(orders)
        return self._sent(torch.cat([order, order[:, : length - self._drawn]], dim=1))

    def _sent(self, tensor: Tensor) -> Tensor:
        # without waiting for what the device does
        held = tensor.pin_memory() if self.device.type == "cuda" else tensor
        return held.to(self.device, non_blocking=True)

    def _draws(self, epoch: int, which: int, length: int) -> dict[str, Tensor]:
        # the random numbers of an epoch's augmentation, each (R, length)
        streams = (Rng(seed, "augment", epoch, which, device=self.device) for seed in self.seeds)
        each = [augment.draw(self.settings, length, rng) for rng in streams]
        return {name: torch.stack([own[name] for own in each]) for name in each[0]}

    def _batch(self, inputs: Tensor, index: Tensor, draws: dict[str, Tensor]) -> Batch:
        x = self._floats(inputs)
        if draws:
            flat = {name: drawn.flatten() for name, drawn in draws.items()}
            x = augment.augment(x.flatten(0, 1), flat, self.settings).reshape(x.shape)
        return Batch(augment.normalise(x, self.settings), self.labels.gather(1, index), index)

    def _floats(self, inputs: Tensor) -> Tensor:
        return augment.to_float(inputs).to(self.dtype)


def _pool(inputs: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    # Runs on the same data share their inputs; runs on data of their own (drawn by seed) are laid one after the other.
    places: dict[int, int] = {}
    kept: list[Tensor] = []
    for x in inputs:
        if id(x) not in places:
            places[id(x)] = sum(len(other) for other in kept)
            kept.append(x)
    return (kept[0] if len(kept) == 1 else torch.cat(kept)), [places[id(x)] for x in inputs]


def check_every_class(tasks: Sequence[Task]) -> None:
    """Raise where a training part lacks a class, for then no epoch of it could be balanced."""
    for dataset, splits, seed in tasks:
        counts = dataset.y_given[splits.train].bincount(minlength=len(dataset.classes))
        if not counts.all():
            raise InputError(
                f"train.balanced needs training rows of every class, but with seed {seed} there are none of "
                f"{dataset.classes[int(counts.argmin())]!r}; leave that class out of the data, or train.balanced"
            )
