"""The ways to execute one step for R runs: side by side, or packed into one mapped call; no method knows which."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from labelnoise.config import Optimiser
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.lane import Compiled, Lane
from labelnoise.engine.lanes import Alone, Stacked
from labelnoise.engine.outcome import Outcome
from labelnoise.engine.player import player_of
from labelnoise.engine.step import Clock, Tensors, transition
from labelnoise.engine.tree import mapped
from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.types import Batch, DataSpec, Terms

Launched = Callable[[], Terms]  # waits, on the device, for a step and gives its terms


class Executor(ABC):
    """R runs of one structure; everything that goes in or comes out has the run axis first."""

    def __init__(self, methods: Sequence[Method], seeds: Sequence[int], lanes: Sequence[Lane]) -> None:
        self.methods, self.seeds, self.lanes = tuple(methods), tuple(seeds), tuple(lanes)
        self.players = [player_of(lane) for lane in lanes]
        self.runs = len(self.seeds)
        self.stopped: set[int] = set()  # runs that failed: they need no more steps
        self.pause: Callable[[], None] = lambda: None  # called where a step can be left and taken up again

    @property
    def name(self) -> str:
        """The one in `EXECUTORS`."""
        return next(name for name, kind in EXECUTORS.items() if isinstance(self, kind))

    @property
    def runs_per_call(self) -> int:
        """How many runs a network's call serves."""
        return self.lanes[0].runs or 1

    def compile(self, compiler: Compiled) -> None:
        """From now on objectives are compiled: once for all runs."""
        for lane in self.lanes:
            lane.compiled = compiler

    @abstractmethod
    def launch(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Launched:
        """Forward, backward and update of every run, which may go on while more is asked of the device."""

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Terms:
        """The same, and wait for it."""
        return self.launch(batch, peers, memory, clock)()

    @abstractmethod
    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """(R, B, K) from (R, B, ...)."""

    @abstractmethod
    def keep_best(self, better: Tensor) -> None:
        """Remember the weights of the runs where `better` (R,) holds."""

    @abstractmethod
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave; the stage must have been entered."""

    @abstractmethod
    def set_aux(self, aux: Mapping[str, Tensor]) -> None:
        """Add to what objectives find in `ctx.aux`."""

    @torch.no_grad()
    def apply(self, function: Callable[..., Any], *tensors: Tensor) -> Any:
        """`function(method, nets, aux, *tensors)` in eval mode, of tensors (R, ...); so is every tensor it returns."""
        found = []
        parts = zip(*(each.chunk(len(self.lanes)) for each in tensors), strict=True) if tensors else repeat(())
        for lane, own in zip(self.lanes, parts, strict=False):
            lane.module.eval()
            result = lane.map(function, lane.aux, *(lane.stacked(each.unbind()) for each in own))
            found.append(mapped(lane.by_run, result))
        return mapped(lambda *each: torch.cat(each), found[0], *found[1:])

    @property
    def tells_given_apart(self) -> bool:
        """Whether the stage's method predicts given labels otherwise than true ones."""
        return type(self.lanes[0].current[0]).noisy_log_probs is not Method.noisy_log_probs

    def transition(self) -> Tensors:
        """T (R, K, K) by name, where the stage's method has one."""
        found: Tensors = self.apply(transition)
        return found

    def enter(self, index: int, optimiser: Optimiser) -> None:
        """Begin a stage, with fresh optimisers."""
        for lane, player in zip(self.lanes, self.players, strict=True):
            lane.enter(index, optimiser)
            player.entered()

    def restart(self, index: int, names: Sequence[str]) -> None:
        """Make these networks anew."""
        for lane in self.lanes:
            lane.restart(index, names)

    def restore_best(self) -> None:
        """Go back to the remembered weights."""
        for lane in self.lanes:
            lane.restore_best()

    def exchange_best(self) -> None:
        """Go back to the remembered weights, and remember the present ones: done twice, all is as it was."""
        for lane in self.lanes:
            places = lane.changing()
            for name, best in lane.best.items():
                lane.best[name] = places[name].clone()
                places[name].copy_(best)

    def state(self) -> Tensors:
        """Everything that changes while training."""
        states = [lane.state() for lane in self.lanes]
        return {name: torch.cat([state[name] for state in states]) for name in states[0]}


class Streams(Executor):
    """Each run with its own state and its own step; R = 1 is the ordinary single run."""

    def __init__(
        self,
        methods: Sequence[Method],
        spec: DataSpec,
        seeds: Sequence[int],
        like: Tensor,
        execution: Execution = DEFAULT,
        *,
        lane: Callable[..., Alone] = Alone,
    ) -> None:
        each = zip(methods, seeds, strict=True)
        super().__init__(methods, seeds, [lane([method], spec, [seed], like, execution) for method, seed in each])
        self._done: dict[int, Outcome[Terms]] = {}  # of runs that have made the present step

    def launch(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Launched:
        """One run after the other; it can be left between two, and then goes on with those that are missing."""
        running = [r for r in range(self.runs) if r not in self.stopped]
        for r in running:
            if r not in self._done:
                self.pause()
                self._done[r] = self.players[r].step(*_of_run((batch, peers, memory), r), clock)
        done, self._done = self._done, {}
        some = done[running[0]]  # stands in for stopped runs, of which nothing is recorded
        return partial(_together, [done.get(r, some) for r in range(self.runs)])

    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """One run after the other."""
        each = [player.log_probs(own, noisy=noisy) for player, own in zip(self.players, x, strict=True)]
        return torch.stack([outcome.get() for outcome in each])

    def keep_best(self, better: Tensor) -> None:
        """Each run for itself."""
        for lane, flag in zip(self.lanes, better, strict=True):
            lane.keep_best(flag)

    def state(self) -> Tensors:
        """Everything that changes while training; within a step also what it has given so far."""
        done = {f"done|{r}|{name}": value for r, own in self._done.items() for name, value in _named(own.get()).items()}
        return super().state() | done

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Each run its own rows."""
        whole = {name: value for name, value in state.items() if not name.startswith("done|")}
        for r, lane in enumerate(self.lanes):
            lane.load({name: value[r : r + 1] for name, value in whole.items()})
            place = f"done|{r}|"
            own = {name.removeprefix(place): value for name, value in state.items() if name.startswith(place)}
            if own:
                self._done[r] = Outcome(_terms({name: value.to(lane.like.device) for name, value in own.items()}))

    def set_aux(self, aux: Mapping[str, Tensor]) -> None:
        """Each run its own rows."""
        for r, (lane, player) in enumerate(zip(self.lanes, self.players, strict=True)):
            if lane.set_aux({name: value[r] for name, value in aux.items()}):
                player.entered()


class Packed(Executor):
    """All runs as one mapped call over stacked state: fast for small networks."""

    def __init__(
        self,
        methods: Sequence[Method],
        spec: DataSpec,
        seeds: Sequence[int],
        like: Tensor,
        execution: Execution = DEFAULT,
    ) -> None:
        super().__init__(methods, seeds, [Stacked(methods, spec, seeds, like, execution)])
        (self.lane,), (self.player,) = self.lanes, self.players

    def launch(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Launched:
        """All runs at once."""
        return self.player.step(batch, peers, memory, clock).get

    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """All runs at once."""
        return self.player.log_probs(x, noisy=noisy).get()

    def keep_best(self, better: Tensor) -> None:
        """All runs at once."""
        self.lane.keep_best(better)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """All runs at once."""
        if any(name.startswith("done|") for name in state):
            raise InputError("a training was left between two runs of a step: to go on leave --executor packed out")
        self.lane.load(state)

    def set_aux(self, aux: Mapping[str, Tensor]) -> None:
        """All runs at once."""
        if self.lane.set_aux(aux):
            self.player.entered()


EXECUTORS: dict[str, type[Streams] | type[Packed]] = {"streams": Streams, "packed": Packed}


def _named(terms: Terms) -> Tensors:
    # the tensors of a step's terms by name
    named = {"loss": terms.loss} | {f"logs|{name}": value for name, value in terms.logs.items()}
    named |= {f"memory|{name}": value for name, value in terms.memory.items()}
    return named | {f"kept|{name}": value for name, value in terms.kept.items()}


def _terms(named: Tensors) -> Terms:
    found: dict[str, Tensors] = {"logs": {}, "memory": {}, "kept": {}}
    for kind, _, name in (each.partition("|") for each in named if each != "loss"):
        found[kind][name] = named[f"{kind}|{name}"]
    return Terms(named["loss"], **found)


def _together(outcomes: Sequence[Outcome[Terms]]) -> Terms:
    each = [outcome.get() for outcome in outcomes]
    stacked: Terms = mapped(lambda *tensors: torch.stack(tensors), each[0], *each[1:])
    return stacked


def _of_run(tree: tuple[Batch, tuple[Batch, ...], Tensors], r: int) -> tuple[Batch, tuple[Batch, ...], Tensors]:
    own: tuple[Batch, tuple[Batch, ...], Tensors] = mapped(lambda tensor: tensor[r], tree)
    return own
