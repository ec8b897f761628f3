"""Packs into records, on this machine."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from math import inf
from typing import Any

import torch
from torch import Tensor

from labelnoise import nets
from labelnoise.config import Named, RunConfig
from labelnoise.data.dataset import Builder
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import split
from labelnoise.data.stream import Share, make_loader
from labelnoise.engine import checkpoint, ranks
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.choosing import choose, threads_that_pay
from labelnoise.engine.compiling import Compiler
from labelnoise.engine.distributed import distributed
from labelnoise.engine.evaluate import counted_margins, details, on_test_part
from labelnoise.engine.examine import examined
from labelnoise.engine.execution import Execution
from labelnoise.engine.executors import EXECUTORS, Executor
from labelnoise.engine.features import line, projection
from labelnoise.engine.instance import shown
from labelnoise.engine.interrupt import Interrupt, InterruptError
from labelnoise.engine.loop import Training
from labelnoise.engine.observer import EpochResult
from labelnoise.engine.plane import plane
from labelnoise.errors import InputError
from labelnoise.files import FullDiskError
from labelnoise.methods.base import Method
from labelnoise.noise.corrupt import corrupt
from labelnoise.results.model import Member, save_model
from labelnoise.results.record import Record
from labelnoise.results.store import Journal, Store
from labelnoise.software import commit, versions
from labelnoise.sweep.plan import Pack
from labelnoise.threads import threads
from labelnoise.types import DataSpec

DISTRIBUTED = "distributed"  # the executor of several processes, and of pieces


class Display:
    """Where the work shows itself: this one shows nothing."""

    def expect(self, packs: int) -> None:
        """So many packs come now."""

    def begin(self, name: str, runs: int, epochs: int, done: int) -> None:
        """A pack of runs starts, or goes on after so many epochs."""

    def tick(self, epoch: int, step: int, steps: int) -> None:
        """A step is done."""

    def judge(self, epoch: int, share: float) -> None:
        """So much of an epoch's evaluation is done."""

    def end(self, epochs: int) -> None:
        """The pack is done after so many epochs."""

    def give_up(self, instead: int) -> None:
        """The pack is left as it is; so many others take its place, and come next."""

    def say(self, sentence: str) -> None:
        """One line for the person who waits."""

    def warn(self, sentence: str) -> None:
        """One line that must not be missed."""


@dataclass(frozen=True)
class Workplace:
    """What all packs of a job share: their data, the device, and who looks on."""

    store: Store
    build: Builder
    device: torch.device
    execution: Execution
    display: Display
    interrupt: Interrupt
    before: Collection[str] = ()  # identities of runs that were finished when the job began
    engine: "Engine | None" = None  # None: packs one after the other, in this process
    share: float = 1.0  # of the device, the rest of which others use


Planner = Callable[[Callable[[Pack], int]], list[Pack]]  # the packs that are left, of at most so many runs
Engine = Callable[[Planner, Workplace], None]  # trains packs, each of them into the store


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
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where streams and graphs are made
    return device


def prepare(config: RunConfig, build: Builder) -> Task:
    """The data of one run: split, then corrupted where it is learnt from; the test part stays as it came."""
    dataset = build(config.seed)
    splits = split(dataset, config.split, config.seed)
    learnt_from = torch.cat([splits.train, splits.validation])
    return Task(corrupt(dataset, config.noise, seed=config.seed, rows=learnt_from), splits, config.seed)


def specify(config: RunConfig, task: Task) -> DataSpec:
    """What the method may know of the data."""
    shape = task.dataset.shape
    net = partial(nets.build, config.net.name, shape, settings=config.net.settings)
    batch = min(config.train.batch, len(task.splits.train))
    return DataSpec(shape, len(task.dataset.classes), len(task.splits.train), net, batch)


def failure(method: str, seed: int, place: tuple[int, int]) -> str:
    """The sentence on a run that was stopped."""
    epoch, step = place
    return f"{method}, seed {seed}: the loss was not finite in epoch {epoch + 1}, step {step + 1}; this run is stopped"


class _Writer:
    """Passes on what a training tells: steps to the display, epochs to the journal, failures to both."""

    def __init__(self, pack: Pack, journal: Journal, display: Display) -> None:
        self.pack, self.journal, self.display = pack, journal, display
        self.stepped: Callable[[int, int, int], None] = display.tick
        self.judged: Callable[[int, float], None] = display.judge

    def finished_epoch(self, result: EpochResult) -> None:
        configs = self.pack.configs
        self.journal.write(
            [
                Record(run.identity, run.method.name, run.seed, result.stage, result.epoch, measures)
                for run, measures in ((configs[r], measures) for r, measures in result.measures.items())
            ]
        )
        for r, step in result.failed.items():
            self.display.warn(failure(configs[r].method.name, configs[r].seed, (result.epoch, step)))


def make_runner(
    name: str, methods: Sequence[Method], spec: DataSpec, loader: Loader, *, config: RunConfig, execution: Execution
) -> Executor:
    """The executor of this name, compiled where that pays."""
    like, train = torch.zeros((), device=loader.device), config.train
    if name == DISTRIBUTED:
        return distributed(methods, spec, loader.seeds, like, execution, train=train)
    runner = EXECUTORS[name](methods, spec, loader.seeds, like, execution)
    if execution.compiles(loader.device, train.epochs * loader.steps(train.batch)):
        runner.compile(_compiler(name, execution, _shared(config)))
    return runner


def _shared(config: RunConfig) -> str:
    return replace(config, method=Named(""), code="", noise="", transition="", seed=0).identity


@lru_cache(maxsize=1)
def _compiler(executor: str, execution: Execution, shared: str) -> Compiler:
    # one for packs that follow each other and differ in methods, noise and seeds alone
    return Compiler()


def run_pack(pack: Pack, at: Workplace) -> None:
    """Train a pack to its end, taking up a checkpoint where there is one."""
    config, journal, code = pack.configs[0], at.store.journal(pack.name), commit()  # which may change while it trains
    tasks = [prepare(each, at.build) for each in pack.configs]
    spec = specify(config, tasks[0])
    share = Share(ranks.count(), ranks.own_rows, ranks.gathered) if ranks.count() > 1 else None
    loader = make_loader(tasks, config.train, at.device, share)
    net, batch = spec.net(spec.classes), config.train.batch
    checkpointer = Checkpointer(journal.checkpoint, warn=at.display.warn)
    if ranks.rank():
        checkpointer.every_seconds = inf  # the first process writes
    left_by = EXECUTORS.keys() & {checkpointer.facts().get("executor")}  # only it can go on within a step
    name = _executor(config, at) or "".join(left_by) or choose(pack.methods[0], spec, len(pack.configs), at.device)
    runner = make_runner(name, pack.methods, spec, loader, config=config, execution=at.execution)
    writer = _Writer(pack, journal, at.display)
    training = Training(
        runner, loader, spec, config.train, observer=writer, checkpointer=checkpointer, interrupt=at.interrupt
    )
    training.resume()
    at.display.begin(config.method.name, len(tasks), config.train.epochs, training.position.epoch)
    journal.begin(training.position.epoch)
    place = {"executor": name, "device": _name(at.device), "execution": asdict(at.execution)}
    place |= {"versions": versions(), "commit": code}
    with threads(threads_that_pay(net, batch * runner.runs_per_call)), at.execution.settings(at.device):
        training.run()
        try:
            found = _details(training)
        except InterruptError:
            training.save()  # at its end, from where it is closed at once
            raise
    keep = partial(_keep, pack, journal, training, tasks, found)
    full = _is_full(keep)
    facts = {"runs": _runs(pack, training, tasks), "seconds": training.seconds}
    journal.finish(facts | place | {"finished": _now()})
    if full and _is_full(keep):  # also without the checkpoint, of whose space that makes use
        at.display.warn(_without_model(pack))
    at.display.end(max((record.epoch + 1 for record in journal.read()), default=0))


def _executor(config: RunConfig, at: Workplace) -> str | None:
    # what is asked for; rows that processes share, or that are learnt from in pieces, need one of their own
    if ranks.count() == config.train.accumulate == 1:
        return at.execution.executor
    if at.execution.executor == "packed":
        raise InputError(
            "runs that are packed can neither be shared by processes nor have train.accumulate; leave --executor out"
        )
    return DISTRIBUTED


def _details(training: Training) -> dict[str, Tensor]:
    # What reports need, with the weights that noisy validation selects. But for a line, which is that of the last
    # epoch: where one separates the classes, noisy validation is content with the first. Pictures are taken after the
    # last epoch too, for it is the one that many papers show.
    found = line(training.executor, training.spec)
    last = on_test_part(training.executor, training.loader, training.spec.classes, training.interrupt.check)
    found |= {f"last_{name}": value for name, value in (last | _pictures(training)).items()}
    with _selected(training):
        found |= details(training.executor, training.loader, training.spec.classes, training.interrupt.check)
        found |= _pictures(training)
        return found | shown(training.executor, training.loader)


def _keep(pack: Pack, journal: Journal, training: Training, tasks: list[Task], found: dict[str, Tensor]) -> None:
    # Of several processes each may do so by itself: nothing is predicted.
    checkpoint.save(journal.details, found, {})
    with _selected(training):
        _save_model(pack, journal, training, tasks)


@contextmanager
def _selected(training: Training) -> Iterator[None]:
    # Inside, the weights are those that noisy validation selects; who leaves it early saves the training at its end.
    training.executor.exchange_best()
    try:
        yield
    finally:
        training.executor.exchange_best()


def _is_full(write: Callable[[], None]) -> bool:
    # The disk, which is no reason to throw measures away.
    try:
        write()
    except FullDiskError:
        return True
    return False


def _without_model(pack: Pack) -> str:
    return (
        f"{pack.configs[0].method.name} × {len(pack.configs)}: no space is left for its model, or for what reports "
        "draw; its measures are kept without: free some, and train with another --out to have all"
    )


def _save_model(pack: Pack, journal: Journal, training: Training, tasks: list[Task]) -> None:
    scores = training.best_score.tolist()
    healthy = {r: Member(pack.configs[r], scores[r]) for r in range(len(tasks)) if r not in training.failed}
    if healthy:
        best = max(healthy.values(), key=lambda member: member.score)  # runs of a search differ in their settings
        members = {r: each for r, each in healthy.items() if each.config.method == best.config.method}
        data = tasks[0].dataset
        facts = {"shape": data.shape, "classes": data.classes, "samples": training.spec.samples}
        facts |= {"encoding": dict(data.encoding), "versions": versions()}
        save_model(journal.model, training.executor, members, facts)


def _pictures(training: Training) -> dict[str, Tensor]:
    executor, loader, spec, pause = training.executor, training.loader, training.spec, training.interrupt.check
    found = counted_margins(executor, loader, spec.classes, pause) | plane(executor, loader, spec, pause)
    return found | examined(executor, loader, pause) | projection(executor, loader, spec, pause)


def _runs(pack: Pack, training: Training, tasks: list[Task]) -> list[dict[str, Any]]:
    return [
        {"run": each.identity, "config": each.to_dict(), "noise_rate": _rate(task), "failed": training.failed.get(r)}
        for r, (each, task) in enumerate(zip(pack.configs, tasks, strict=True))
    ]


def _rate(task: Task) -> float | None:
    # Of the rows that are learnt from; the test part is clean and would water it down.
    if task.dataset.y_true is None:
        return None
    rows = task.splits.train
    return float((task.dataset.y_given[rows] != task.dataset.y_true[rows]).double().mean())


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
