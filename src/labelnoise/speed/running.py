"""The engine, timed: the one place here that makes trainings, as `labelnoise train` makes them, and lets them run."""

import gc
from contextlib import suppress
from dataclasses import replace

import torch

from labelnoise.config import Named, RunConfig
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import batches
from labelnoise.data.stream import make_loader
from labelnoise.engine.choosing import choose, threads_that_pay
from labelnoise.engine.execution import DEFAULT
from labelnoise.engine.loop import Training
from labelnoise.engine.observer import Observer
from labelnoise.methods import build
from labelnoise.speed.blocks import Blocks, EnoughError
from labelnoise.speed.cases import Bench, Case
from labelnoise.sweep.run import make_runner, prepare, specify
from labelnoise.threads import threads


def ready(
    config: RunConfig, runs: int, executor: str, dataset: Dataset, *, device: torch.device, watch: Observer
) -> Training:
    """A training of so many runs that stands at the first step of its last stage, for a warm-up is plain."""
    tasks = [prepare(replace(config, seed=seed), lambda _: dataset) for seed in range(runs)]
    spec, loader = specify(config, tasks[0]), make_loader(tasks, config.train, device)
    method = build(config.method.name, config.method.settings)
    runner = make_runner(executor, [method] * runs, spec, loader, config=config, execution=DEFAULT)
    training = Training(runner, loader, spec, config.train, observer=watch)
    for phase in training.phases:  # each is entered, for it may estimate what a later one needs; none is trained
        training.begin(phase)
    return training


def run(training: Training) -> None:
    """Go on until the observer has enough."""
    net = training.spec.net(training.spec.classes)
    cores = threads_that_pay(net, training.train.batch * training.executor.runs_per_call)
    with threads(cores), DEFAULT.settings(training.loader.device), suppress(EnoughError):
        training.finish(training.phases[-1])


def chosen(case: Case, method: Named, runs: int, bench: Bench) -> str:
    """The executor that a comparison would take."""
    config, dataset = case.config(method), bench.images(case)
    spec = specify(config, prepare(config, lambda _: dataset))
    return choose(build(method.name, method.settings), spec, runs, bench.device)


def engine_rate(case: Case, method: Named, runs: int, executor: str, bench: Bench) -> tuple[float, str]:
    """Images per second, all runs together, and a note where little was measured."""
    release(bench.device)
    watch = Blocks(bench.device, bench.seconds)
    training = ready(case.config(method), runs, executor, bench.images(case), device=bench.device, watch=watch)
    run(training)
    return runs * batches(training.loader.samples, case.batch)[1] / watch.step_seconds, watch.note


def release(device: torch.device) -> None:
    """Give back what earlier measurements held, so that it is not in the way of the next."""
    gc.collect()  # a training and its executor know each other
    if device.type == "cuda":
        torch.cuda.empty_cache()
