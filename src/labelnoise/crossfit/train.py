"""One network for each fold, all trained as one job of the engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from labelnoise import nets, untold
from labelnoise.config import Data, Named, RunConfig, Train, Value
from labelnoise.crossfit.watch import Watch
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Task
from labelnoise.data.recipe import recipe
from labelnoise.data.split import Splits
from labelnoise.data.stream import make_loader
from labelnoise.engine.choosing import choose, threads_that_pay
from labelnoise.engine.execution import DEFAULT
from labelnoise.engine.loop import Training
from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.rng import hashed, seeded_init
from labelnoise.sweep.run import Display, failure, make_runner
from labelnoise.threads import threads
from labelnoise.types import DataSpec, NetFactory

Maker = Callable[..., nn.Module]  # makes a network, given its number of outputs and settings
Net = str | Maker  # one of a registered name
ONE_BY_ONE = "streams"  # the executor for networks of one's own, which may draw or branch and so not be packed


@dataclass(frozen=True)
class Plan:
    """What is trained and how, whatever the method."""

    dataset: Dataset
    splits: Sequence[Splits]  # a network for each
    net: Net
    net_settings: Mapping[str, Any]
    train: Train
    seed: int
    device: torch.device

    @property
    def factory(self) -> NetFactory:
        """What makes a network, given its head."""
        if isinstance(self.net, str):
            return partial(nets.build, self.net, self.dataset.shape, settings=self.net_settings)
        return made_by(self.net, self.net_settings)

    def configs(self, method: Method) -> list[RunConfig]:
        """The settings of each run."""
        named = Named(method.name, asdict(method))
        net = Named(self.net, _plain(self.net_settings)) if isinstance(self.net, str) else Named(f"own {id(self.net)}")
        seeds = [hashed(self.seed, "fold", fold) % 2**31 for fold in range(len(self.splits))]
        return [
            RunConfig(Data(source=""), noise="none", method=named, net=net, train=self.train, seed=seed)
            for seed in seeds
        ]


@dataclass(frozen=True)
class CrossFit:
    """What the networks of all folds have become, and what they say of rows they have not learnt from."""

    plan: Plan
    method: Method
    training: Training
    probs: Tensor  # (n, K), mean over epochs before they learn by heart
    margins: Tensor | None  # (n,) mean margin of the given label while it was learnt; NaN: it was not
    history: list[dict[str, float]]


def made_by(net: Maker, settings: Mapping[str, Any]) -> NetFactory:
    """Networks that a function makes, given its number of outputs and these settings."""
    checked = untold.Maker(net)
    untold.check_call(net, settings)
    return untold.Maker(partial(net, **settings)) if settings else checked


def suited(dataset: Dataset, rows: int, *, epochs: int | None = None, batch: int | None = None) -> tuple[str, Train]:
    """The network and training that suit so many rows of such inputs, where nothing else is asked for."""
    usual = recipe(dataset.shape, rows)
    return usual.net, Train(
        epochs=usual.epochs if epochs is None else epochs, batch=usual.batch if batch is None else batch
    )


def crossfit(method: Method, plan: Plan, display: Display | None = None, *, margins: bool = True) -> CrossFit:
    """Train a network for each fold; one whose loss is no longer a number ends all with a sentence."""
    display, configs = display or Display(), plan.configs(method)
    tasks = [Task(plan.dataset, split, config.seed) for split, config in zip(plan.splits, configs, strict=True)]
    samples = len(plan.splits[0].train)
    spec = DataSpec(
        plan.dataset.shape, len(plan.dataset.classes), samples, plan.factory, min(plan.train.batch, samples)
    )
    if not isinstance(plan.net, str):
        untold.check_network(spec)
    loader = make_loader(tasks, plan.train, plan.device)
    name = choose(method, spec, len(tasks), plan.device) if isinstance(plan.net, str) else ONE_BY_ONE
    runner = make_runner(name, [method] * len(tasks), spec, loader, config=configs[0], execution=DEFAULT)
    watch = Watch(runner, loader, display, margins=margins)
    training = Training(runner, loader, spec, plan.train, observer=watch)
    display.begin(method.name, len(tasks), plan.train.epochs, 0)
    cores = threads_that_pay(spec.net(spec.classes), spec.batch * runner.runs_per_call)
    with threads(cores), DEFAULT.settings(plan.device), seeded_init(plan.seed, "crossfit"):  # for dropout of others
        training.run()
    display.end(plan.train.epochs)
    if training.failed:
        run, place = next(iter(training.failed.items()))
        stopped = failure(method.name, configs[run].seed, place)
        raise InputError(f"{stopped}; choose another method, or scale the inputs")
    rows = len(plan.dataset)
    return CrossFit(
        plan,
        method,
        training,
        watch.predictions(plan.splits, rows),
        watch.margins(plan.splits, rows) if margins else None,
        watch.history,
    )


def _plain(settings: Mapping[str, Any]) -> dict[str, Value]:
    # sequences, which a configuration has as texts
    return {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in settings.items()
    }
