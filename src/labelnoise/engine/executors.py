"""The ways to execute one step for R runs: side by side, or packed into one mapped call; no method knows which."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from labelnoise.config import Optimiser
from labelnoise.engine.lanes import Alone, Lane, Stacked
from labelnoise.engine.step import Clock, Tensors, transition
from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.types import Batch, DataSpec, Terms


class Executor(ABC):
    """R runs of one structure; everything that goes in or comes out has the run axis first."""

    lanes: Sequence[Lane]

    def __init__(self, methods: Sequence[Method], seeds: Sequence[int]) -> None:
        self.methods, self.seeds = tuple(methods), tuple(seeds)
        self.runs = len(self.seeds)
        self.stopped: set[int] = set()  # runs that failed: they need no more steps
        self.pause: Callable[[], None] = lambda: None  # called where a step can be left and taken up again

    @abstractmethod
    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Terms:
        """Forward, backward and update of every run."""

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
            found.append(tree_map(lane.by_run, result))
        return tree_map(lambda *each: torch.cat(each), found[0], *found[1:])

    def transition(self) -> Tensors:
        """T (R, K, K) by name, where the stage's method has one."""
        found: Tensors = self.apply(transition)
        return found

    def enter(self, index: int, optimiser: Optimiser) -> None:
        """Begin a stage, with fresh optimisers."""
        for lane in self.lanes:
            lane.enter(index, optimiser)

    def restart(self, index: int, names: Sequence[str]) -> None:
        """Make these networks anew."""
        for lane in self.lanes:
            lane.restart(index, names)

    def restore_best(self) -> None:
        """Go back to the remembered weights."""
        for lane in self.lanes:
            lane.restore_best()

    def state(self) -> Tensors:
        """Everything that changes while training."""
        states = [lane.state() for lane in self.lanes]
        return {name: torch.cat([state[name] for state in states]) for name in states[0]}


class Streams(Executor):
    """Each run with its own state and its own step; R = 1 is the ordinary single run."""

    def __init__(self, methods: Sequence[Method], spec: DataSpec, seeds: Sequence[int], like: Tensor) -> None:
        super().__init__(methods, seeds)
        self.lanes = [Alone([method], spec, [seed], like) for method, seed in zip(methods, seeds, strict=True)]
        self._done: dict[int, Terms] = {}  # runs that have made the present step, and what it gave

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Terms:
        """One run after the other; it can be left between two, and then goes on with those that are missing."""
        running = [r for r in range(self.runs) if r not in self.stopped]
        for r in running:
            if r not in self._done:
                self.pause()
                self._done[r] = self.lanes[r].step(*_of_run((batch, peers, memory), r), clock)
        terms, self._done = self._done, {}
        some = terms[running[0]]  # stands in for stopped runs, of which nothing is recorded
        each = [terms.get(r, some) for r in range(self.runs)]
        stacked: Terms = tree_map(lambda *tensors: torch.stack(tensors), each[0], *each[1:])
        return stacked

    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """One run after the other."""
        return torch.stack([lane.log_probs(own, noisy=noisy) for lane, own in zip(self.lanes, x, strict=True)])

    def keep_best(self, better: Tensor) -> None:
        """Each run for itself."""
        for lane, flag in zip(self.lanes, better, strict=True):
            lane.keep_best(flag)

    def state(self) -> Tensors:
        """Everything that changes while training; within a step also what it has given so far."""
        done = {f"done|{r}|{name}": value for r, terms in self._done.items() for name, value in _named(terms).items()}
        return super().state() | done

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Each run its own rows."""
        whole = {name: value for name, value in state.items() if not name.startswith("done|")}
        for r, lane in enumerate(self.lanes):
            lane.load({name: value[r : r + 1] for name, value in whole.items()})
            own = {name.removeprefix(f"done|{r}|"): state[name] for name in state if name.startswith(f"done|{r}|")}
            if own:
                self._done[r] = _terms(own)

    def set_aux(self, aux: Mapping[str, Tensor]) -> None:
        """Each run its own rows."""
        for r, lane in enumerate(self.lanes):
            lane.aux |= {name: value[r] for name, value in aux.items()}


class Packed(Executor):
    """All runs as one mapped call over stacked state: fast for small networks."""

    def __init__(self, methods: Sequence[Method], spec: DataSpec, seeds: Sequence[int], like: Tensor) -> None:
        super().__init__(methods, seeds)
        self.lane = Stacked(methods, spec, seeds, like)
        self.lanes = [self.lane]

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Terms:
        """All runs at once."""
        return self.lane.step(batch, peers, memory, clock)

    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """All runs at once."""
        return self.lane.log_probs(x, noisy=noisy)

    def keep_best(self, better: Tensor) -> None:
        """All runs at once."""
        self.lane.keep_best(better)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """All runs at once."""
        if any(name.startswith("done|") for name in state):
            raise InputError("the training was left within a step of one run after the other; use --executor streams")
        self.lane.load(state)

    def set_aux(self, aux: Mapping[str, Tensor]) -> None:
        """All runs at once."""
        self.lane.aux |= aux


EXECUTORS: dict[str, type[Streams] | type[Packed]] = {"streams": Streams, "packed": Packed}


def is_small(net: nn.Module, batch: int) -> bool:
    """Whether a step is so little work for a CPU that calling kernels, and waiting for threads, costs most of it."""
    weights = sum(param.numel() for param in net.parameters())
    return not _has_convolutions(net) and weights * batch < 3e7


def choose(net: nn.Module, runs: int, batch: int, device: torch.device) -> str:
    """The executor that is likely faster for this network; `benchmarks/packing.py` measures the small MLPs.

    On a CPU packing saves the cost of calling small kernels. Convolutions go to streams, where ones with BatchNorm are
    faster; a small one without it may gain by packing. The bounds on size, and the rule for GPUs, are rough.
    """
    if runs == 1:
        return "streams"
    if device.type == "cpu":
        return "packed" if is_small(net, batch) else "streams"
    return "packed" if sum(param.numel() for param in net.parameters()) < 1e6 else "streams"


def _has_convolutions(net: nn.Module) -> bool:
    return any(isinstance(module, nn.modules.conv._ConvNd) for module in net.modules())


def _named(terms: Terms) -> Tensors:
    # the tensors of a step's terms by name
    named = {"loss": terms.loss} | {f"logs|{name}": value for name, value in terms.logs.items()}
    named |= {f"memory|{name}": value for name, value in terms.memory.items()}
    return named | {f"kept|{name}": value for name, value in terms.kept.items()}


def _terms(named: Tensors) -> Terms:
    found: dict[str, Tensors] = {"logs": {}, "memory": {}, "kept": {}}
    for name, value in named.items():
        if name != "loss":
            kind, _, key = name.partition("|")
            found[kind][key] = value
    return Terms(named["loss"], **found)


def _of_run(tree: tuple[Batch, tuple[Batch, ...], Tensors], r: int) -> tuple[Batch, tuple[Batch, ...], Tensors]:
    own: tuple[Batch, tuple[Batch, ...], Tensors] = tree_map(lambda tensor: tensor[r], tree)
    return own
