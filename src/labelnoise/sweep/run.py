"""Packs into records, on this machine."""

import platform
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

import labelnoise
from labelnoise import nets
from labelnoise.config import RunConfig
from labelnoise.data.dataset import load, split
from labelnoise.data.loader import Loader, Task
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.executors import EXECUTORS, Executor, choose
from labelnoise.engine.loop import EpochResult, Training
from labelnoise.errors import InputError
from labelnoise.noise.apply import corrupt, parse
from labelnoise.results.record import Record
from labelnoise.results.store import Journal
from labelnoise.sweep.plan import Pack
from labelnoise.types import DataSpec, Head

Ticker = Callable[[int, int, int], None]  # epoch, step, steps
Note = Callable[[str], None]


def find_device(name: str) -> torch.device:
    """The device of this name; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.zeros((), device=name).device
    except (RuntimeError, AssertionError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"device {name!r} is not available here; use auto, cpu, cuda or cuda:N")
    return device


def prepare(config: RunConfig) -> Task:
    """The data of one run: split, then corrupted where it is learnt from; the test part stays as it came."""
    dataset = load(config.data, config.seed)
    noise = parse(config.noise, len(dataset.classes), config.data)
    splits = split(dataset, config.split, config.seed)
    learnt_from = torch.cat([splits.train, splits.validation])
    return Task(corrupt(dataset, noise, seed=config.seed, rows=learnt_from), splits, config.seed)


def specify(config: RunConfig, task: Task) -> DataSpec:
    """What the method may know of the data."""
    shape = tuple(task.dataset.x.shape[1:])
    factory = partial(_net, config, shape)
    return DataSpec(shape, len(task.dataset.classes), len(task.splits.train), factory)


def _net(config: RunConfig, shape: tuple[int, ...], head: Head) -> torch.nn.Module:
    return nets.build(config.net.name, shape, head, config.net.settings)


def failure(method: str, seed: int, place: tuple[int, int]) -> str:
    """The sentence on a run that was stopped."""
    epoch, step = place
    return f"{method}, seed {seed}: the loss was not finite in epoch {epoch + 1}, step {step + 1}; this run is stopped"


class _Writer:
    """Passes on what a training tells: steps to the ticker, epochs to the journal, failures to the notes."""

    def __init__(self, pack: Pack, journal: Journal, tick: Ticker, note: Note) -> None:
        self.pack, self.journal, self.stepped, self.note = pack, journal, tick, note

    def finished_epoch(self, result: EpochResult) -> None:
        configs = self.pack.configs
        self.journal.write(
            [
                Record(run.identity, run.method.name, run.seed, result.stage, result.epoch, measures)
                for run, measures in ((configs[r], measures) for r, measures in result.measures.items())
            ]
        )
        for r, step in result.failed.items():
            self.note(failure(configs[r].method.name, configs[r].seed, (result.epoch, step)))


def run_pack(
    pack: Pack, journal: Journal, *, device: torch.device, executor: str | None, tick: Ticker, note: Note
) -> None:
    """Train a pack to its end, taking up a checkpoint where there is one; `executor` None takes the faster."""
    config = pack.configs[0]
    tasks = [prepare(each) for each in pack.configs]
    spec = specify(config, tasks[0])
    if spec.samples < config.train.batch:
        note(f"batches of {config.train.batch} shrink to the {spec.samples} training samples there are")
    loader = Loader(tasks, config.train.augment, device)
    name = executor or choose(spec.net(spec.classes), len(pack.configs), config.train.batch, device)
    like = torch.zeros((), device=device)
    runner: Executor = EXECUTORS[name](pack.methods, spec, loader.seeds, like)
    checkpointer = Checkpointer(journal.checkpoint)
    writer = _Writer(pack, journal, tick, note)
    training = Training(runner, loader, spec, config.train, observer=writer, checkpointer=checkpointer)
    began = time.perf_counter()
    training.resume()
    if training.position.epoch:
        note(f"{config.method.name}: goes on from epoch {training.position.epoch + 1}")
    journal.begin(training.position.epoch)
    training.run()
    runs = [
        {"run": each.identity, "config": each.to_dict(), "noise_rate": _rate(task), "failed": training.failed.get(r)}
        for r, (each, task) in enumerate(zip(pack.configs, tasks, strict=True))
    ]
    seconds = time.perf_counter() - began
    journal.finish({"runs": runs, "seconds": seconds, "executor": name, "device": str(device), "versions": versions()})


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    own = {"labelnoise": labelnoise.__version__, "python": platform.python_version()}
    return own | {"torch": torch.__version__, "numpy": np.__version__}


def _rate(task: Task) -> float | None:
    # Of the rows that are learnt from; the test part is clean and would water it down.
    if task.dataset.y_true is None:
        return None
    rows = task.splits.train
    return float((task.dataset.y_given[rows] != task.dataset.y_true[rows]).double().mean())
