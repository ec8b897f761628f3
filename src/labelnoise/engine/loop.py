"""The loop: stages, epochs, steps; it knows no method or executor by name, and no step waits for the device."""

import time
from collections.abc import Callable, Collection
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import torch
from torch import Tensor

from labelnoise.config import Train
from labelnoise.data.loader import Loader
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.evaluate import evaluate, training_probs
from labelnoise.engine.executors import Executor, Launched
from labelnoise.engine.interrupt import Interrupt
from labelnoise.engine.kept import compared, of_step
from labelnoise.engine.memory import is_shortage
from labelnoise.engine.observer import EpochResult, Observer
from labelnoise.engine.optim import factor, late_beta1
from labelnoise.engine.phases import Phase, carries_best, phases, trained_by
from labelnoise.engine.step import Clock, Tensors
from labelnoise.errors import InputError
from labelnoise.methods.base import Stage
from labelnoise.types import Batch, DataSpec, Snapshot


class Position(NamedTuple):
    """What comes next: a step, or after the last of a phase whatever follows it."""

    phase: int = 0
    epoch: int = 0
    step: int = 0


class Training:
    """R runs of one structure from the first step to the last; it can be left at any step and taken up again."""

    def __init__(
        self,
        executor: Executor,
        loader: Loader,
        spec: DataSpec,
        train: Train,
        *,
        observer: Observer,
        checkpointer: Checkpointer | None = None,
        interrupt: Interrupt | None = None,
    ) -> None:
        self.executor, self.loader, self.spec, self.train = executor, loader, spec, train
        self.observer, self.checkpointer, self.interrupt = observer, checkpointer, interrupt or Interrupt()
        executor.pause = self._leave
        self.phases = phases(executor.methods[0], train.epochs)
        self.position = Position()
        self._began, self._spent = time.perf_counter(), 0.0  # the latter before an interruption
        self.entered = False  # a resumed training stands inside a phase
        self._unsettled: Callable[[], None] = lambda: None  # what is left to note of the last step
        self.memory: Tensors = {}
        self.meter: Tensors = {}
        self.failed: dict[int, tuple[int, int]] = {}  # run -> epoch and step of its first loss that was no number
        below = torch.full((executor.runs,), -1.0, dtype=torch.float64, device=loader.device)
        self.first_bad, self.best_score = below.long(), below

    def run(self) -> None:
        """Train to the end from the present position."""
        for phase in self.phases[self.position.phase :]:
            if not self.entered:
                self.begin(phase)
            self.finish(phase)
        self.executor.pause = lambda: None  # else they would hold each other, and their memory, until a collection

    def begin(self, phase: Phase) -> None:
        """Enter a phase: estimate what its stage needs, make optimisers and, where asked, networks anew."""
        if phase.number == 0:
            self.executor.enter(0, trained_by(phase.stage, self.train)[0])
        self._estimate(phase, "before", phase.first, self.failed)
        if phase.number > 0:
            self.executor.enter(phase.number, trained_by(phase.stage, self.train)[0])
        self.executor.restart(phase.number, phase.stage.restart)
        self.best_score.fill_(-1.0)
        each = [stage.method.memory(self.spec) for stage in self._stages(phase)]
        for name in (name for name in each[0] if name not in self.memory):
            self.memory[name] = self._placed(torch.stack([memory[name] for memory in each]))
        self.position = Position(phase.number, phase.first)

    def finish(self, phase: Phase) -> None:
        """The epochs of a phase that are still to come."""
        while self.position.epoch < phase.end and len(self.failed) < self.executor.runs:
            self._epoch(phase)
        if carries_best(phase.stage, self.train):
            self.executor.restore_best()
        self.entered = False  # the next one; until it is, the position is the end of this one, whose state there is

    @property
    def seconds(self) -> float:
        """Spent on this training so far, also before it was interrupted."""
        return self._spent + time.perf_counter() - self._began

    def state(self) -> Tensors:
        """Everything that changes while training."""
        own = {"first_bad": self.first_bad, "best_score": self.best_score}
        kept = {"memory": self.memory, "meter": self.meter}
        own |= {f"{kind}|{name}": value for kind, named in kept.items() for name, value in named.items()}
        return own | self.executor.state()

    def save(self) -> None:
        """Write a checkpoint of this very moment."""
        self._settle()
        if self.checkpointer:
            facts = {"position": self.position, "failed": list(self.failed.items()), "seconds": self.seconds}
            self.checkpointer.save(self.state(), facts | {"executor": self.executor.name})

    def resume(self) -> None:
        """Go to where the checkpoint was written, if there is one."""
        if self.checkpointer is None or (saved := self.checkpointer.load()) is None:
            return
        try:
            self._load(*saved)
        except (LookupError, RuntimeError) as problem:
            if is_shortage(problem):
                raise
            path = self.checkpointer.path
            raise InputError(f"checkpoint {path} is of another training ({problem}); delete it to begin anew") from None

    def _load(self, tensors: Tensors, facts: dict[str, Any]) -> None:
        self.position, self.failed = Position(*facts["position"]), {run: tuple(at) for run, at in facts["failed"]}
        self.executor.enter(self.position.phase, trained_by(self.phases[self.position.phase].stage, self.train)[0])
        self.executor.load(tensors)
        on_device = {name: value.to(self.loader.device) for name, value in tensors.items()}
        self.first_bad, self.best_score = on_device["first_bad"], on_device["best_score"]
        self.memory, self.meter = (
            {name.removeprefix(kind): value for name, value in on_device.items() if name.startswith(kind)}
            for kind in ("memory|", "meter|")
        )
        self.executor.stopped, self.entered, self._spent = set(self.failed), True, facts["seconds"]

    def _epoch(self, phase: Phase) -> None:
        stage, epoch = phase.stage, self.position.epoch
        size = stage.batch or self.train.batch
        steps = self.loader.steps(size)
        served = self.loader.epoch(epoch, size, stage.method.peers, self.position.step)
        for step, (batch, peers) in enumerate(served, start=self.position.step):
            launched = self.executor.launch(batch, peers, self.rows(batch), self.clock(phase, step, steps))
            self._settle()  # the step before: so the device has always one more to do
            self._unsettled = partial(self._note, launched, batch, step)
            if self.memory:  # of which the next step reads what this one writes
                self._settle()
            self.position = Position(phase.number, epoch, step + 1)
            self._pause()
            self.observer.stepped(epoch, step, steps)
        self.loader.prepare(epoch + 1, size, stage.method.peers)  # while the device is still at its steps
        self._finish_epoch(phase, steps)

    def _finish_epoch(self, phase: Phase, steps: int) -> None:
        self._settle()
        epoch = self.position.epoch
        means = {name: total / steps for name, total in self.meter.items()}
        measures = {f"train/{name}": value for name, value in compared(means).items()}
        judged = partial(self.observer.judged, epoch)
        measures |= evaluate(self.executor, self.loader, self._pause, judged)
        self._mark(measures["train/nll_given"].isnan(), steps - 1)  # the last update may have been the fatal one
        if carries_best(phase.stage, self.train) or phase is self.phases[-1]:
            self.executor.keep_best(measures["validation/score"] > self.best_score)
            self.best_score = torch.maximum(measures["validation/score"], self.best_score)
        result = self._result(phase.stage.name, epoch, measures)
        failed = self.failed | {run: (epoch, step) for run, step in result.failed.items()}
        self._estimate(phase, "refresh", epoch + 1, failed)  # left within it, the epoch is judged anew and the same
        self.failed, self.executor.stopped = failed, set(failed)
        self.meter, self.position = {}, Position(phase.number, epoch + 1)
        self.observer.finished_epoch(result)

    def _pause(self) -> None:
        # Between two steps or two chunks of predictions, which change nothing: a moment that can be saved.
        if self.checkpointer and self.checkpointer.due:
            self.save()
        self._leave()

    def _leave(self) -> None:
        if self.interrupt.asked:  # also looked at between two runs of one step, which may take long
            self.save()
            self.interrupt.check()

    def _result(self, stage: str, epoch: int, measures: Tensors) -> EpochResult:
        bad = self.first_bad.tolist()  # the epoch's one wait for the device, with the measures below
        failed = {run: step for run, step in enumerate(bad) if step >= 0 and run not in self.failed}
        table = {name: value.tolist() for name, value in measures.items()}
        healthy = [run for run, step in enumerate(bad) if step < 0]
        # A measure of rows that a run has none of is NaN, and left out.
        each = {run: {name: of[run] for name, of in table.items() if not isnan(of[run])} for run in healthy}
        return EpochResult(stage, epoch, each, failed)

    def rows(self, batch: Batch) -> Tensors:
        """The batch's rows of the per-sample state, (R, B, ...)."""
        return {name: rows[self._runs, batch.rows] for name, rows in self.memory.items()}

    def clock(self, phase: Phase, step: int, steps: int) -> Clock:
        """Where a step of the present epoch stands."""
        epoch, epochs = self.position.epoch - phase.first, phase.end - phase.first
        here = epoch + step / steps
        _, schedule = trained_by(phase.stage, self.train)
        progress, now, end = (self._number(time) for time in (here / epochs, epoch, epochs))
        scale, beta1 = factor(schedule, here, epochs), late_beta1(schedule, epoch)
        return Clock(self.position.epoch, step, progress, now, end, scale, beta1)

    def _settle(self) -> None:
        settle, self._unsettled = self._unsettled, lambda: None
        settle()

    def _note(self, launched: Launched, batch: Batch, step: int) -> None:
        terms = launched()
        for name, rows in terms.memory.items():
            self.memory[name][self._runs, batch.rows] = rows.to(self.memory[name].dtype)
        y_true = self.loader.parts["train"].y_true
        right = batch.y == y_true.gather(1, batch.rows) if terms.kept and y_true is not None else None
        for name, value in {"loss": terms.loss, **terms.logs, **of_step(terms.kept, right)}.items():
            self.meter[name] = self.meter[name] + value if name in self.meter else value.clone()
        self._mark(~terms.loss.isfinite(), step)

    def _mark(self, bad: Tensor, step: int) -> None:
        self.first_bad = torch.where(bad & (self.first_bad < 0), step, self.first_bad)

    def _stages(self, phase: Phase) -> list[Stage]:
        # each run's own, for its functions may use its hyper-parameters
        return [method.stages()[phase.number] for method in self.executor.methods]

    def _estimate(self, phase: Phase, moment: str, epoch: int, failed: Collection[int]) -> None:
        # Runs outside the step, a few times per training, so a plain loop over runs.
        healthy = [run for run in range(self.executor.runs) if run not in failed]
        if getattr(phase.stage, moment) is None or not healthy:
            return
        done = (epoch - phase.first) / (phase.end - phase.first)
        estimates = [getattr(stage, moment) for stage in self._stages(phase)]
        pause = self._pause if self.position > Position() else self.interrupt.check  # nothing is trained yet
        probs, labels = training_probs(self.executor, self.loader, pause), self.loader.labels
        found = {run: estimates[run](Snapshot(probs[run], labels[run], done)) for run in healthy}
        some = found[healthy[0]]  # also stands in for failed runs, whose predictions are no numbers
        stacked = {name: [found.get(run, some)[name] for run in range(self.executor.runs)] for name in some}
        self.executor.set_aux({name: self._placed(torch.stack(each)) for name, each in stacked.items()})

    def _placed(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.loader.device, self.loader.dtype if tensor.is_floating_point() else tensor.dtype)

    def _number(self, value: float) -> Tensor:
        # filled on the device, since a copy from the host would wait for it
        return torch.full((), value, dtype=torch.float64, device=self.loader.device)

    @property
    def _runs(self) -> Tensor:
        return torch.arange(self.executor.runs, device=self.loader.device).unsqueeze(1)
