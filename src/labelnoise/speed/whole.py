"""Whole comparisons by a paper's recipe, as `labelnoise train` runs them: evaluation, records, checkpoints."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from labelnoise.config import Job, Split
from labelnoise.configure import build
from labelnoise.data.rows import counted
from labelnoise.papers.paper import paper
from labelnoise.speed.blocks import EnoughError, wait_for
from labelnoise.speed.cases import Bench, images
from labelnoise.speed.figure import Figure
from labelnoise.sweep.compare import run_job
from labelnoise.sweep.run import Display

FEW = 2000  # images on a CPU
LIMIT = 420.0  # seconds after which a comparison is left, and what is missing is reckoned


@dataclass(frozen=True)
class Whole:
    """Which comparison of the logistic-normal paper, and how much of it."""

    data: str
    methods: tuple[str, ...]  # as the paper calls them
    seeds: int
    epochs: int

    def job(self, device: torch.device) -> Job:
        """As it is run on a GPU; on a CPU a small piece of it."""
        tree = paper("logistic_normal").settings(self.data, "random:0.4:exact", list(self.methods))
        job: Job = build(Job, tree)
        if device.type == "cuda":
            return replace(job, seeds=self.seeds, train=replace(job.train, epochs=self.epochs))
        train = replace(job.train, epochs=3, batch=32)
        return replace(job, seeds=1, train=train, split=Split(0.08, 0.2, rows=1000))


MNIST = Whole("mnist", ("CE", "GCE", "LN"), 15, 100)
CIFAR10 = Whole("cifar10", ("CE",), 6, 90)
SHORT = Whole("mnist", ("CE",), 45, 6)


class Timer(Display):
    """Notes when steps and evaluations end: between an evaluation and the next step lies the host's own work."""

    def __init__(self, device: torch.device, now: Callable[[], float] = time.perf_counter) -> None:
        self.device, self.now, self.began = device, now, now()
        self.runs, self.epochs = 0, 0  # of the present pack; of all runs so far, each counted
        self.host: list[float] = []  # seconds between an evaluation and the first step after it
        self.cycles: list[tuple[int, float]] = []  # runs, and seconds between two evaluations
        self.gap = float("inf")  # least time between two steps
        self._judged: float | None = None
        self._last = 0.0

    def begin(self, name: str, runs: int, epochs: int, done: int) -> None:
        """Nothing lies between this pack and the one before."""
        self._judged, self.runs = None, runs

    def tick(self, epoch: int, step: int, steps: int) -> None:
        """A step is asked for; the device may not have made it yet."""
        now = self.now()
        if step:
            self.gap = min(self.gap, now - self._last)
        elif self._judged is not None:
            self.host.append(now - self._judged)
        self._last = now
        if now - self.began > LIMIT:
            raise EnoughError

    def judge(self, epoch: int, share: float) -> None:
        """At the end of an evaluation the device is waited for, as the loop does next anyway."""
        if share < 1:
            return
        wait_for(self.device)
        now = self.now()
        if self._judged is not None:
            self.cycles.append((self.runs, now - self._judged))
        self._judged = now
        self.epochs += self.runs

    @property
    def host_share(self) -> float:
        """Of the time between evaluations, what passes before the first step; that step's own time is taken off."""
        spent = sum(max(0.0, each - self.gap) for each in self.host)
        return spent / sum(seconds for _, seconds in self.cycles)

    @property
    def steady(self) -> float:
        """Epochs of runs per second, but for the first of each pack, which compiles and records."""
        return sum(runs for runs, _ in self.cycles) / sum(seconds for _, seconds in self.cycles)


def measure(whole: Whole, bench: Bench) -> Iterator[Figure]:
    """Wall time of all of it, images per second with evaluation, and the share of the host's own work."""
    job, dataset = whole.job(bench.device), images(whole.data, 0 if bench.device.type == "cuda" else FEW)
    timer = Timer(bench.device)
    with tempfile.TemporaryDirectory() as folder, suppress(EnoughError):
        out = Path(folder) / "out"
        run_job(job, lambda _: dataset, out=out, device=bench.device, display=timer)
    yield from _figures(job, timer, len(dataset.learnable))


def _figures(job: Job, timer: Timer, rows: int) -> Iterator[Figure]:
    seconds = timer.now() - timer.began
    wanted, done = len(job.methods) * job.seeds * job.train.epochs, timer.epochs
    learnt = min(job.split.rows or rows, rows) * (1 - job.split.validation / (1 - job.split.test))
    runs = f"{len(job.methods)} × {counted(job.seeds, 'run')}"
    note = f"{runs} × {job.train.epochs} epochs of {learnt:.0f} images"
    if not done:
        yield Figure("wall time", None, "s", key="seconds", note=f"{note}; left before the end of an epoch")
        return
    if done < wanted:
        note += f"; left after {done} of {wanted} epochs of runs, the time of all is reckoned"
    yield Figure("wall time", seconds * wanted / done, "s", key="seconds", note=note)
    yield Figure("all of it", done * learnt / seconds, "images/s", key="rate", note="evaluation and start included")
    if not timer.cycles:  # it was left before a second epoch
        return
    yield Figure("after the first epoch", timer.steady * learnt, "images/s", note="evaluation included")
    share = 100 * timer.host_share
    yield Figure("host work at epoch ends", share, "%", key="host", note="records, choice of epoch")
