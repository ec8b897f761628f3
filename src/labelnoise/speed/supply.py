"""What comes before a step: noise on labels, data from the disk to the device, and batches."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.config import Named
from labelnoise.data.loader import batches
from labelnoise.data.rows import counted
from labelnoise.data.standard.cache import load
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.data.stream import make_loader, usual_workers
from labelnoise.noise import flip, instance_dependent, symmetric
from labelnoise.speed.blocks import in_turns, wait_for
from labelnoise.speed.cases import CASES, Bench, Case, absent
from labelnoise.speed.figure import Figure
from labelnoise.speed.plain import serve, training_images
from labelnoise.sweep.run import prepare

CLASSES, RATE = 10, 0.4
LABELS, LOOPED = 1_000_000, 10_000  # the loop is timed on fewer
PICTURES, PIXELS = 20_000, 3072


def noise(bench: Bench) -> Iterator[Figure]:
    """Labels per second, on the CPU; beside it a loop over rows that draws each label with numpy."""
    rng, T = np.random.default_rng(0), symmetric(CLASSES, RATE)
    y = rng.integers(0, CLASSES, LABELS)
    works = (lambda: flip(y, T, seed=0), lambda: by_hand(y[:LOOPED], np.asarray(T), rng))
    flipped, looped = in_turns(works, bench.device, bench.seconds)
    rate, by_row = LABELS / flipped, LOOPED / looped
    yield Figure("symmetric", rate, "labels/s", {"a loop over rows": rate / by_row})
    x = rng.integers(0, 256, (PICTURES, PIXELS), dtype=np.uint8)
    labels = y[:PICTURES]
    rate = PICTURES / _seconds(lambda: instance_dependent(x, labels, RATE, classes=CLASSES, seed=0), bench)
    yield Figure("instance", rate, "labels/s", note=f"of {PIXELS} pixels each")


def data(bench: Bench) -> Iterator[Figure]:
    """Seconds from the data root to the device, and images per second that loaders serve, without training."""
    for name in ("mnist", "cifar10"):
        yield _loading(name, bench)
    for case in (bench.fitted(CASES["lenet5"]), replace(bench.fitted(CASES["wrn_28_2"]), runs=1)):
        plain, own = _plain_served(case, bench), _served(case, bench)
        what = f"{case.data}, {'crop and flip' if case.augment.crop else 'as they are'}"
        what += ", random images in its place" if absent(case.data) else ""
        from_all, for_all = f"{what}, {counted(usual_workers(), 'worker')}", f"{what}, for {counted(case.runs, 'run')}"
        yield Figure(f"DataLoader, {case.data}", plain, "images/s", note=from_all)
        yield Figure(f"loader, {case.data}", own, "images/s", {"DataLoader": own / plain}, note=for_all)


def _loading(name: str, bench: Bench) -> Figure:
    if missing := absent(name):
        return Figure(f"load {name}", None, "s", note=missing)

    def loaded() -> None:
        for array in load(CARDS[name], "x", "y").arrays.values():  # which a process otherwise reads but once
            torch.from_numpy(array).to(bench.device)

    note = "checks included, a file that the system has in memory"
    return Figure(f"load {name}", _seconds(loaded, bench), "s", note=note)


def _served(case: Case, bench: Bench) -> float:
    config, dataset = case.config(Named("ce")), bench.images(case)
    task = prepare(config, lambda _: dataset)
    loader = make_loader([task._replace(seed=seed) for seed in range(case.runs)], config.train, bench.device)
    steps, size = batches(loader.samples, case.batch)
    epochs = count()

    def epoch() -> None:
        for _ in loader.epoch(next(epochs), case.batch):
            pass

    return case.runs * steps * size / _seconds(epoch, bench)


def _plain_served(case: Case, bench: Bench) -> float:
    served = iter(serve(training_images(case, bench), case.batch, bench.device, usual_workers()))
    next(served)  # waits for the workers to start
    done, began = 0, time.perf_counter()
    for x, _ in served:
        x.to(bench.device, non_blocking=True)
        done += 1
        if time.perf_counter() - began > bench.seconds:
            break
    wait_for(bench.device)
    return case.batch * done / (time.perf_counter() - began)


def by_hand(y: NDArray[np.int64], T: NDArray[np.float64], rng: np.random.Generator) -> list[int]:
    """A given label for each true one, as a loop over rows draws them."""
    return [int(rng.choice(len(T), p=T[true])) for true in y]


def _seconds(work: Callable[[], object], bench: Bench) -> float:
    return in_turns([work], bench.device, bench.seconds)[0]
