"""How long a table takes on a device, before it is begun: a few steps of its networks are timed."""

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import prod
from statistics import median

import torch

from labelnoise.config import Job, Named, RunConfig, Split
from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.rows import counted
from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.data.standard.clothing1m import BALANCED
from labelnoise.engine.choosing import choose
from labelnoise.engine.memory import is_shortage
from labelnoise.engine.observer import EpochResult
from labelnoise.methods import build
from labelnoise.reproduce.groups import Group
from labelnoise.speed.blocks import Blocks, EnoughError, wait_for
from labelnoise.speed.running import ready, release, run
from labelnoise.speed.targets import backbones
from labelnoise.sweep.run import prepare, specify

SECONDS = 1.0  # of timing for a network
EPOCHS = 200  # more than are reached
STEPS = 32  # of rows for each epoch, of which the split leaves some two thirds: timing begins anew with an epoch
SIDE_BY_SIDE = {"cpu": 1, "cuda": 16}  # runs that are timed together
BATCH = {"cpu": 16, "cuda": 256}  # at most, of images; of small ones more
NUMBERS = 2**19  # in so many of these: batches that are too small for a device take twice as long for each image
FEWEST = 3  # rows of each class at least, so that every part of the split has one
WARM = 2  # epochs that are not counted where whole ones are timed


def seconds(group: Group, trained: Iterable[tuple[Named, int]], device: torch.device) -> float:
    """That so many runs of a group's methods take, about: of images, evaluation and the compiler are not in it."""
    data, job = group.cells[0].data, group.job(group.cells[0])
    passes = sum(backbones(method.name) * runs for method, runs in trained)  # of one epoch
    return rows(data, job) * job.train.epochs * passes / rate(data, job, device)


def rate(data: str, job: Job, device: torch.device) -> float:
    """Rows per second of cross-entropy with a group's network and training."""
    config = RunConfig(
        noise="none", method=Named("ce"), net=job.net, train=replace(job.train, epochs=EPOCHS), split=job.split
    )
    if card := _card(data):
        batch = min(job.train.batch, max(BATCH[device.type], NUMBERS // prod(card.shape)))
        config = replace(config, train=replace(config.train, balanced=0, batch=batch), split=Split())
        dataset = like(data, card.shape, card.classes, batch)
    else:
        dataset = DATASETS.get(data)(0)
    try:
        return _timed(config, dataset, SIDE_BY_SIDE[device.type], device)
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
    return _timed(config, dataset, 1, device)


class Epochs:
    """An observer that times whole epochs with their evaluation, and then leaves the training."""

    def __init__(self, device: torch.device, seconds: float) -> None:
        self.device, self.seconds = device, seconds
        self.ends: list[float] = []

    @property
    def epoch_seconds(self) -> float:
        """Of one epoch, by the median; the first ones warm up."""
        return median(after - before for before, after in pairwise(self.ends[WARM - 1 :]))

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Nothing."""

    def judged(self, epoch: int, share: float) -> None:
        """Nothing."""

    def finished_epoch(self, result: EpochResult) -> None:
        """Note when, or leave."""
        wait_for(self.device)
        self.ends.append(time.perf_counter())
        if len(self.ends) > WARM and self.ends[-1] - self.ends[0] > self.seconds:
            raise EnoughError


def _timed(config: RunConfig, dataset: Dataset, runs: int, device: torch.device) -> float:
    release(device)
    task = prepare(config, lambda _: dataset)
    executor = choose(build("ce"), specify(config, task), runs, device)
    # data made on the spot have few numbers in a row, so that an epoch is short and its evaluation much of it
    watch = Blocks(device, SECONDS) if _card(dataset.name) else Epochs(device, SECONDS)
    run(ready(config, runs, executor, dataset, device=device, watch=watch))
    if isinstance(watch, Epochs):
        return runs * len(task.splits.train) / watch.epoch_seconds
    return runs * config.train.batch / watch.step_seconds


def rows(data: str, job: Job) -> float:
    """Of an epoch, about."""
    card, split = _card(data), job.split
    if card and job.train.balanced:
        return job.train.balanced * card.classes
    if card is None:  # no part is kept for the test beforehand
        there = len(DATASETS.get(data)(0).learnable)
        return min(split.rows or there, there) * (1 - split.test - split.validation)
    there = BALANCED * card.classes if data.endswith(":balanced") else card.train
    return min(split.rows or there, there) * (1 - split.validation / (1 - split.test))


def spoken(total: float) -> str:
    """A time as a person would say it."""
    for size, unit in ((365 * 86400, "year"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if total >= 2 * size:
            return counted(round(total / size), unit)
    return counted(max(1, round(total)), "second")


@cache
def like(data: str, shape: tuple[int, ...], classes: int, batch: int) -> Dataset:
    """Random images of the same shape, enough for some steps and for every part of a split."""
    rows = max(STEPS * batch, FEWEST * classes)
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (rows, *shape), generator=generator, dtype=torch.uint8)
    y = torch.arange(rows) % classes
    return Dataset(data, x, y, y, tuple(map(str, range(classes))))


def _card(data: str) -> Card | None:
    return CARDS.get(data.partition(":")[0])
