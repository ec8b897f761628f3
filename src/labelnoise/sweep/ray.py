"""Packs as Ray tasks: on every core or GPU of this machine for as long as the job takes, or on a running cluster.

A task trains its pack in the output folder where it can reach that, and else in a folder of its own; either way the
files come back to the driver, each piece's as soon as it is finished, and the driver alone decides that a pack counts.
Whatever dies, at most work is lost.
"""

import os
import platform
import secrets
import time
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from labelnoise.data.dataset import Builder
from labelnoise.data.rows import counted
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.methods.base import METHODS, Method
from labelnoise.results.store import Journal, Store
from labelnoise.sweep.cluster import Raylet, by_value, connected, imported, last_line
from labelnoise.sweep.halving import halve, left_of, train_or_halve
from labelnoise.sweep.plan import Pack, plan_packs
from labelnoise.sweep.room import most_runs
from labelnoise.sweep.run import Display, Planner, Workplace, find_device

RETRIES = 3  # of a pack whose worker dies
MARK = ".cluster"  # the file in the output folder by which workers know it
PATIENCE = 30.0  # seconds: for workers that are to save and stop, and for one that a dead driver has left behind


@dataclass(frozen=True)
class Ray:
    """An engine: calling it trains packs on a cluster."""

    address: str = ""  # of a running cluster, auto or HOST:PORT; "": one of this machine is started, and ended again
    device: str = "auto"  # cpu, cuda, or GPUs where the cluster has any
    packs_per_gpu: int = 1  # one fills a GPU that its runs share; more pay where packs are small
    runs_per_task: int = 0  # larger packs are cut; 0 leaves them whole

    def __post_init__(self) -> None:
        imported()
        if self.device not in ("auto", "cpu", "cuda"):
            raise InputError(f"device {self.device!r} is none of a cluster's; use auto, cpu or cuda")
        if self.packs_per_gpu < 1:
            raise InputError(f"packs_per_gpu must be at least 1, not {self.packs_per_gpu}")
        if self.runs_per_task < 0:
            raise InputError(f"runs_per_task must be a number of runs, or 0, not {self.runs_per_task}")

    def __call__(self, plan: Planner, at: Workplace) -> None:
        """Train all packs; one that cannot be trained is named, and the others go on."""
        packs = plan(lambda pack: self.runs_per_task or len(pack.configs))
        pieces = [piece for pack in packs for piece in _pieces(pack, at)]
        if not pieces:
            return
        with connected(self.address) as ray, _marked(at.store.folder) as mark, by_value(ray) as own:
            found = ray.cluster_resources()
            device = self._device(found.get("GPU", 0))
            order = _Order(str(at.store.folder.absolute()), mark, device, at.execution, own, self.packs_per_gpu)
            have = f"{counted(round(found.get('CPU', 0)), 'core')}, {counted(round(found.get('GPU', 0)), 'GPU')}"
            at.display.say(f"Ray: {have}; {counted(len(pieces), 'task')}, on {device}")
            task = ray.remote(_work).options(max_retries=0, **self._needs(device))  # the driver retries, and says so
            told = ray.put(at.build), ray.put(order)
            with Raylet(ray) as raylet:
                _Sweep(ray, task, told, at, raylet).run(pieces)

    def _needs(self, device: str) -> dict[str, float]:
        return {"num_cpus": 1, "num_gpus": 1 / self.packs_per_gpu if device == "cuda" else 0}

    def _device(self, gpus: float) -> str:
        if self.device == "cuda" and not gpus:
            raise InputError("the cluster has no GPU; use --device cpu")
        return ("cuda" if gpus else "cpu") if self.device == "auto" else self.device


def _pieces(pack: Pack, at: Workplace) -> list[Pack]:
    if not at.store.journal(pack.name).halved:
        return [pack]
    return [piece for half in left_of(pack, at) for piece in _pieces(half, at)]


class _Order(NamedTuple):
    """What all tasks of a job are told."""

    folder: str  # of the driver's output
    mark: str  # what the file MARK in it holds, if it is the same folder
    device: str
    execution: Execution
    methods: Mapping[str, type[Method]]  # that are none of the package
    packs_per_gpu: int = 1


class _Began(NamedTuple):
    host: str
    process: int


class _Handed(NamedTuple):
    """What a task has finished since it last handed something over."""

    packs: Mapping[str, Mapping[str, bytes]]  # files by pack: the one asked for, or what it was cut into
    notes: Sequence[tuple[str, str]] = ()  # what the pack had to say: the display's method, and a sentence


class _Ended(NamedTuple):
    """A task's last word."""

    notes: Sequence[tuple[str, str]]
    problem: str = ""  # why it did not come to its end


_Heard = _Began | _Handed | _Ended


class _Notes(Display):
    """Keeps what a pack says for the driver's display."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str]] = []

    def begin(self, name: str, runs: int, epochs: int, done: int) -> None:
        if done:
            self.say(f"{name} × {runs}: went on from epoch {done + 1}")

    def say(self, sentence: str) -> None:
        self.kept.append(("say", sentence))

    def warn(self, sentence: str) -> None:
        self.kept.append(("warn", sentence))

    def taken(self) -> list[tuple[str, str]]:
        """What was kept since the last time."""
        taken, self.kept = self.kept, []
        return taken


@dataclass
class _Task:
    """A pack under way."""

    pack: Pack
    journals: list[Journal] = field(default_factory=list)  # of what it has handed over


class _Sweep:
    """The tasks under way, and what comes of them."""

    def __init__(self, ray: Any, task: Any, told: tuple[Any, Any], at: Workplace, raylet: Raylet) -> None:
        self.ray, self.task, self.told, self.at, self.raylet = ray, task, told, at, raylet
        self.running: dict[Any, _Task] = {}  # by the stream of what the task yields
        self.deaths: Counter[str] = Counter()
        self.failed: list[str] = []
        self.tasks = 0  # asked for, those that were halved as two
        self.until = inf  # once it is to stop: how long tasks may take to save

    def run(self, packs: Sequence[Pack]) -> None:
        self.tasks = len(packs)
        for pack in packs:
            self.submit(pack)
        while self.running and time.monotonic() < self.until:
            self.check()
            if self.at.interrupt.asked and self.until == inf:
                self.stop()
            ready, _ = self.ray.wait([*self.running], timeout=0.5)
            for stream in ready:
                self.hear(stream)
        self.at.interrupt.check()
        if self.failed:
            more = ", and others" if len(self.failed) > 1 else ""
            raise InputError(
                f"{len(self.failed)} of {self.tasks} tasks did not finish ({self.failed[0]}{more}); "
                "what is finished is kept: mend that and type the command again"
            )

    def check(self) -> None:
        if self.raylet.died:
            self.at.interrupt.check()  # the same signal may have been for both
            raise InputError(
                "raylet, Ray's process on this machine, has died, and its workers with it; what is finished is kept: "
                "type the command again, after `ray start` if it was you who started Ray"
            )

    def submit(self, pack: Pack, done: Collection[str] = ()) -> None:
        self.running[self.task.remote(pack, frozenset(done), *self.told)] = _Task(pack)

    def hear(self, stream: Any) -> None:
        self.check()
        task = self.running[stream]
        try:
            heard: _Heard = self.ray.get(next(stream))
        except self.ray.exceptions.RayError as problem:
            del self.running[stream]
            self.lose(task.pack, problem)
            return
        if isinstance(heard, _Began):
            self.at.display.say(f"{_called(task.pack)}: began on {heard.host}, process {heard.process}")
            return
        for how, sentence in heard.notes:
            getattr(self.at.display, how)(sentence)
        if isinstance(heard, _Handed):
            self.keep(stream, task, heard.packs)
        else:
            del self.running[stream]
            self.end(task, heard.problem)

    def keep(self, stream: Any, task: _Task, packs: Mapping[str, Mapping[str, bytes]]) -> None:
        try:
            for name, files in packs.items():
                journal = self.at.store.journal(name)
                journal.put(files)
                task.journals.append(journal)
        except InputError as problem:
            del self.running[stream]
            self.ray.cancel(stream)  # the rest of it could not be kept either
            self.fail(task.pack, str(problem))

    def end(self, task: _Task, problem: str) -> None:
        if problem:
            self.fail(task.pack, problem)
            return
        left = f"{counted(len(self.running), 'task')} to come" if self.running else "the last one"
        self.at.display.say(f"{_called(task.pack)}: {_spent(task.journals)}, {left}")

    def lose(self, pack: Pack, problem: Exception) -> None:
        if self.until < inf:
            return
        errors = self.ray.exceptions
        died = (errors.WorkerCrashedError, errors.NodeDiedError, errors.LocalRayletDiedError, errors.ObjectLostError)
        self.deaths[pack.name] += 1
        if isinstance(problem, errors.OutOfMemoryError) and len(pack.configs) > 1:
            self.halve(pack)
        elif not isinstance(problem, (*died, errors.OutOfMemoryError, errors.TaskCancelledError)):
            self.fail(pack, last_line(problem))
        elif self.deaths[pack.name] > RETRIES:
            self.fail(pack, f"its worker died {self.deaths[pack.name]} times ({type(problem).__name__})")
        else:
            self.at.display.warn(f"{_called(pack)}: its worker died ({type(problem).__name__}); it is run again")
            self.submit(pack, self.at.store.runs().keys())

    def halve(self, pack: Pack) -> None:
        try:
            halve(pack, self.at, "ran out of its machine's memory")
            parts = left_of(pack, self.at)
        except InputError as problem:
            self.fail(pack, str(problem))
            return
        self.tasks += len(parts) - 1
        for half in parts:
            self.submit(half, self.at.store.runs().keys())

    def fail(self, pack: Pack, why: str) -> None:
        self.failed.append(f"{_called(pack)}: {why}")
        self.at.display.warn(self.failed[-1])

    def stop(self) -> None:
        self.at.display.say(f"stopping: {counted(len(self.running), 'task')} to save or leave")
        self.until = time.monotonic() + PATIENCE
        for stream in self.running:
            self.ray.cancel(stream)


def _work(pack: Pack, done: Collection[str], build: Builder, order: _Order) -> Iterator[_Heard]:
    # The task, on some machine of the cluster; the driver has runs that are done already.
    yield _Began(platform.node(), os.getpid())
    for name, method in order.methods.items():
        if name in METHODS:  # of an earlier state of its file
            METHODS.forget(name)
        METHODS.register(name)(method)
    yield from _trained(pack, done, build, order, _share(order))


def _share(order: _Order) -> float:
    # Of the device, that is for one task; on a CPU there may be one for every core that Ray counts on this machine.
    if order.device == "cuda":
        return 1 / order.packs_per_gpu
    ray = imported()
    here = ray.get_runtime_context().get_node_id()
    cores: float = next(node["Resources"]["CPU"] for node in ray.nodes() if node["NodeID"] == here)
    return 1 / cores


def _trained(
    pack: Pack, done: Collection[str], build: Builder, order: _Order, share: float
) -> Iterator[_Handed | _Ended]:
    notes, why = _Notes(), ""
    try:
        with _reached(order) as store, Interrupt() as interrupt:
            device = find_device(order.device)
            at = Workplace(store, build, device, order.execution, notes, interrupt, share=share)
            with _alone(store.journal(pack.name)):
                yield _Handed(_files(pack, store))  # by another task for the same pack
                known = {*done, *store.runs()}
                for piece in plan_packs(pack.configs, known, partial(most_runs, at=at), store.halved()):
                    train_or_halve(piece, at)
                    yield _Handed(_files(piece, store), notes.taken())
    except InputError as problem:
        why = f"{problem} (on {platform.node()})"
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        line = f"{Path(place.filename).name}, line {place.lineno}"
        why = f"{type(problem).__name__}: {last_line(problem)} (in {line}, on {platform.node()})"
    yield _Ended(notes.taken(), why)


def _files(pack: Pack, store: Store) -> dict[str, dict[str, bytes]]:
    # of all packs that hold runs of this one
    runs = store.runs()
    journals = dict.fromkeys(runs[config.identity].pack for config in pack.configs if config.identity in runs)
    return {journal.folder.name: journal.files() for journal in journals}


@contextmanager
def _reached(order: _Order) -> Iterator[Store]:
    # The driver's folder where it is this machine's too: checkpoints in it outlive a worker. Else one of our own.
    try:
        same = (Path(order.folder) / MARK).read_text() == order.mark
    except OSError:
        same = False
    if same:
        yield Store(Path(order.folder))
        return
    with TemporaryDirectory(prefix="labelnoise-") as folder:
        yield Store(Path(folder))


@contextmanager
def _alone(journal: Journal) -> Iterator[None]:
    # Of two tasks for one pack, such as one that was taken for dead, the second waits.
    journal.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(journal.lock, timeout=PATIENCE):
            try:
                yield
            finally:
                journal.lock.unlink(missing_ok=True)
    except Timeout:
        raise InputError(f"another process is at work in {journal.folder}; wait for it") from None
    with suppress(OSError):  # it is empty where the pack was cut into others
        journal.folder.rmdir()


@contextmanager
def _marked(folder: Path) -> Iterator[str]:
    mark = secrets.token_hex(16)
    write(folder / MARK, mark)
    try:
        yield mark
    finally:
        (folder / MARK).unlink(missing_ok=True)


def _called(pack: Pack) -> str:
    return f"{pack.configs[0].method.name} × {len(pack.configs)}"


def _spent(journals: Sequence[Journal]) -> str:
    if not journals:
        return "none of it fits in memory"
    epochs = max((record.epoch + 1 for journal in journals for record in journal.read()), default=0)
    return f"{counted(epochs, 'epoch')} in {sum(journal.facts['seconds'] for journal in journals):.1f} s"
