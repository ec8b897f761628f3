"""How long a table takes on a device, before it is begun: a few steps of its networks are timed."""

from dataclasses import replace
from functools import cache

import torch

from labelnoise.config import Job, Named, RunConfig
from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.data.standard.clothing1m import BALANCED
from labelnoise.engine.choosing import choose
from labelnoise.engine.memory import is_shortage
from labelnoise.methods import build
from labelnoise.reproduce.groups import Group
from labelnoise.speed.blocks import Blocks
from labelnoise.speed.running import ready, release, run
from labelnoise.speed.targets import backbones
from labelnoise.sweep.run import prepare, specify

SECONDS = 1.0  # of timing for a network
EPOCHS = 200  # more than are reached
STEPS = 32  # of rows for each epoch, of which the split leaves some two thirds: timing begins anew with an epoch
SIDE_BY_SIDE = {"cpu": 1, "cuda": 16}  # runs that are timed together
BATCH = {"cpu": 16, "cuda": 256}  # at most


def seconds(group: Group, seeds: int, device: torch.device) -> float:
    """That all runs of a group take, about: evaluation and the compiler are not in it."""
    data, job = group.cells[0].data, group.job(group.cells[0])
    passes = sum(backbones(method.name) * runs for method, runs in group.trained(seeds))  # of one epoch
    return rows(data, job) * job.train.epochs * passes / rate(data, job, device)


def rate(data: str, job: Job, device: torch.device) -> float:
    """Images per second of cross-entropy with a group's network and training."""
    batch = min(job.train.batch, BATCH[device.type])
    dataset = _like(data, STEPS * batch)
    train = replace(job.train, epochs=EPOCHS, balanced=0, batch=min(batch, len(dataset) // STEPS))
    config = RunConfig(noise="none", method=Named("ce"), net=job.net, train=train)
    try:
        return _timed(config, dataset, SIDE_BY_SIDE[device.type], device)
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
    return _timed(config, dataset, 1, device)


def _timed(config: RunConfig, dataset: Dataset, runs: int, device: torch.device) -> float:
    release(device)
    watch, spec = Blocks(device, SECONDS), specify(config, prepare(config, lambda _: dataset))
    executor = choose(build("ce"), spec, runs, device)
    run(ready(config, runs, executor, dataset, device=device, watch=watch))
    return runs * config.train.batch / watch.step_seconds


def rows(data: str, job: Job) -> float:
    """Of an epoch, about."""
    card, split = _card(data), job.split
    if card and job.train.balanced:
        return job.train.balanced * card.classes
    there = card.train if card else round((1 - split.test) * len(DATASETS.get(data)(0).learnable))
    if card and data.endswith(":balanced"):
        there = BALANCED * card.classes
    return min(split.rows or there, there) * (1 - split.validation / (1 - split.test))


def spoken(total: float) -> str:
    """A time as a person would say it."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if total >= 2 * size:
            return f"{total / size:.0f} {unit}"
    return f"{max(1, round(total))} seconds"


@cache
def _like(data: str, rows: int) -> Dataset:
    # random images of the same shape, or the data themselves where they are made on the spot
    if (card := _card(data)) is None:
        return DATASETS.get(data)(0)
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (rows, *card.shape), generator=generator, dtype=torch.uint8)
    y = torch.arange(rows) % card.classes
    return Dataset(data, x, y, y, tuple(map(str, range(card.classes))))


def _card(data: str) -> Card | None:
    return CARDS.get(data.partition(":")[0])
