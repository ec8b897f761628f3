"""Batches for many runs at once: inputs lie on the device once, an epoch is a permutation of rows per run."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.config import Augment
from labelnoise.data import augment
from labelnoise.data.dataset import Dataset
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


class Loader:
    """Serves R runs whose parts have equal sizes; tensors come out with the run axis first."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Augment | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        settings = settings or Augment()
        augment.check(settings, tuple(tasks[0].dataset.x.shape[1:]))
        self.settings = settings
        self.device = torch.device(device)
        self.dtype = dtype
        self.seeds = [task.seed for task in tasks]
        self.pool, offsets = _pool([task.dataset.x for task in tasks])
        self.pool = self.pool.to(self.device)
        self.parts = {name: self._part(name, tasks, offsets) for name in PARTS}

    @property
    def samples(self) -> int:
        """Rows in each run's training set."""
        return self.parts["train"].rows.shape[1]

    @property
    def labels(self) -> Tensor:
        """Given labels of the training sets, (R, N)."""
        return self.parts["train"].y_given

    def epoch(
        self, epoch: int, batch: int, peers: int = 0, start: int = 0
    ) -> Iterator[tuple[Batch, tuple[Batch, ...]]]:
        """The steps of an epoch from step `start` on: a batch and its peers, all shuffled independently."""
        steps, size = batches(self.samples, batch)
        orders = [
            self._order(purpose, epoch, steps * size) for purpose in ["order", *(f"peer{i}" for i in range(peers))]
        ]
        for step in range(start, steps):
            here = slice(step * size, (step + 1) * size)
            first, *rest = (self._batch(order[:, here], epoch, step, i) for i, order in enumerate(orders))
            yield first, tuple(rest)

    def chunks(self, part: str, size: int) -> Iterator[Chunk]:
        """A part in its own order, without augmentation."""
        rows, y_given, y_true = self.parts[part]
        for start in range(0, rows.shape[1], size):
            here = slice(start, start + size)
            x = augment.normalise(self._inputs(rows[:, here]), self.settings)
            yield Chunk(x, y_given[:, here], None if y_true is None else y_true[:, here])

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

    def _order(self, purpose: str, epoch: int, length: int) -> Tensor:
        # (R, length), wrapped round where the last batch would lack rows
        orders = [Rng(seed, purpose, epoch).permutation(self.samples) for seed in self.seeds]
        order = torch.stack(orders)
        return torch.cat([order, order[:, : length - self.samples]], dim=1).to(self.device)

    def _batch(self, index: Tensor, epoch: int, step: int, which: int) -> Batch:
        part = self.parts["train"]
        x = self._augmented(self._inputs(part.rows.gather(1, index)), epoch, step, which)
        return Batch(augment.normalise(x, self.settings), part.y_given.gather(1, index), index)

    def _inputs(self, rows: Tensor) -> Tensor:
        return augment.to_float(self.pool[rows]).to(self.dtype)

    def _augmented(self, x: Tensor, epoch: int, step: int, which: int) -> Tensor:
        settings = self.settings
        if not (settings.crop or settings.flip or settings.rotation):
            return x
        streams = (Rng(seed, "augment", epoch, step, which, device=self.device) for seed in self.seeds)
        draws = [augment.draw(settings, x.shape[1], rng) for rng in streams]
        joined = {name: torch.cat([draw[name] for draw in draws]) for name in draws[0]}
        return augment.augment(x.flatten(0, 1), joined, settings).reshape(x.shape)


def _pool(inputs: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    # Runs on the same data share their inputs; runs on data of their own (drawn by seed) are laid one after the other.
    places: dict[int, int] = {}
    kept: list[Tensor] = []
    for x in inputs:
        if id(x) not in places:
            places[id(x)] = sum(len(other) for other in kept)
            kept.append(x)
    return (kept[0] if len(kept) == 1 else torch.cat(kept)), [places[id(x)] for x in inputs]
