"""A lane is a set of networks stepped together: one run's, or those of a whole pack stacked along a run axis."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from labelnoise.config import Optimiser
from labelnoise.engine.draws import brought, source
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.optim import Updater
from labelnoise.engine.step import Clock, Feed, Given, Step, Tensors, Time, chosen, follow, objective, owner, prediction
from labelnoise.methods.base import Method, Stage, hyper_fields
from labelnoise.nets.base import Lowerable
from labelnoise.nets.dropout import Dropout
from labelnoise.rng import Rng, seeded_init
from labelnoise.types import Batch, DataSpec, Terms


class Compiled(Protocol):
    """What a lane computes, compiled."""

    def __call__(self, lane: "Lane", given: Given, time: Time, update: str) -> Terms:
        """The terms of its objective."""

    def predict(self, lane: "Lane", x: Tensor, draws: Tensors, *, noisy: bool) -> Tensor:
        """Its predictions."""


class Lane(ABC):
    """Runs of one structure: their weights, their optimisers and the stage they are in."""

    module: Step
    params: Tensors
    buffers: Tensors
    runs: int | None  # length of the run axis, None without one
    lowers: ClassVar[type[Lowerable]] = Lowerable  # networks that may compute in fewer bits

    def __init__(
        self,
        methods: Sequence[Method],
        spec: DataSpec,
        seeds: Sequence[int],
        like: Tensor,
        execution: Execution = DEFAULT,
    ) -> None:
        self.execution = execution
        self.methods, self.spec, self.seeds, self.like = tuple(methods), spec, tuple(seeds), like
        self.aux: Tensors = {}
        self.best: Tensors = {}
        self.compiled: Compiled | None = None  # what takes the place of plain calls
        self._take([self._new(run, "init") for run in range(len(self.seeds))])
        self._masks = [f"{name}.seed" for name, each in self.module.named_modules() if isinstance(each, Dropout)]
        self._no_masks = torch.zeros(len(self.seeds), 0, device=like.device)

    @abstractmethod
    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(method, nets, *args)` for every run of the lane."""

    @abstractmethod
    def stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        """One tensor per run, put together as this lane keeps them."""

    @abstractmethod
    def by_run(self, tensor: Tensor) -> Tensor:
        """What this lane keeps, with the run axis first."""

    @abstractmethod
    def _take(self, modules: Sequence[Step]) -> None:
        """Hold the weights of freshly made networks, one module per run."""

    def enter(self, index: int, optimiser: Optimiser) -> None:
        """Begin a stage: its methods, the networks that learn, and fresh optimisers."""
        stages = [method.stages()[index] for method in self.methods]
        self.stage: Stage = stages[0]
        self.current: tuple[Method, ...] = tuple(stage.method for stage in stages)
        learning = [net for net in self.module.networks if net not in self.current[0].averages()]
        self.trains = chosen(self.stage.trains, learning) or tuple(learning)
        self.best = {}
        for name, param in self.params.items():
            param.requires_grad_(owner(name) in self.trains)
        settings, updates = self.stage.optimiser or optimiser, self.current[0].updates
        if len(set(updates)) < len(updates):
            raise ValueError(f"each network is updated once a step, but `updates` is {updates}")
        self._source = source(self.current[0], self.spec, self.stage.batch or self.spec.batch or 1, self.like.device)
        self.updaters = {name: self._updater((name,) if name else self.trains, settings) for name in updates}
        values = {name: [getattr(method, name) for method in self.current] for name in hyper_fields(self.current[0])}
        numbers = {name: torch.tensor(each, dtype=torch.float64) for name, each in values.items()}
        self.hypers = {name: self.stacked(each.unbind()).to(self.like.device) for name, each in numbers.items()}

    def restart(self, index: int, names: Sequence[str]) -> None:
        """Make these networks anew, with other weights than the first time."""
        if not names:
            return
        fresh = [self._new(run, "init", index).state_dict() for run in range(len(self.seeds))]
        for name, value in self._weights().items():
            if chosen(names, (owner(name),)) and name in fresh[0]:
                value.copy_(self.stacked([weights[name] for weights in fresh]))

    def step(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Terms:
        """Forward, backward and update, once for each of the method's updates."""
        self.set_rates(clock)
        return self.run(self.feed(batch, peers, memory, clock))

    def set_rates(self, clock: Clock) -> None:
        """Learning rates, and Adam's first beta, as they are now; what is renewed at an epoch's beginning is."""
        for updater in self.updaters.values():
            updater.set_rates(clock.scale, clock.beta1, first=clock.step == 0)

    def feed(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock) -> Feed:
        """What a step reads; its random numbers are those of the clock."""
        draws = self.draws(batch.y.shape[-1], "draws", clock.epoch, clock.step)
        time = (clock.progress, clock.stage_epoch, clock.stage_epochs)
        return Feed(batch, peers, draws, memory, self._mask_seeds(clock), time)

    def run(self, feed: Feed) -> Terms:
        """A step on the device alone: it asks the host for nothing, so that it can be recorded and played again."""
        losses: list[Tensor] = []
        logs, written, kept = Tensors(), Tensors(), Tensors()
        for update, updater in self.updaters.items():
            terms = self.terms(feed._replace(memory=feed.memory | written), update)
            updater.step(self._grads(terms.loss.sum(), update), terms.active)
            losses.append(terms.loss.detach())
            logs |= {name: value.detach() for name, value in terms.logs.items()}
            written |= {name: value.detach() for name, value in terms.memory.items()}
            kept |= {name: value.detach() for name, value in terms.kept.items()}
        follow(self._weights(), self.current[0].averages())
        return Terms(torch.stack(losses).sum(0), logs, written, kept=kept)

    def terms(self, feed: Feed, update: str = "") -> Terms:
        """The objective alone, in training mode."""
        self.module.train_only(self.trains)
        for place, name in enumerate(self._masks):
            self.buffers[name].copy_(feed.masks[..., place])
        given = Given(feed.batch, feed.peers, feed.draws, feed.memory, self.aux)
        if self.compiled is not None:
            return self.compiled(self, given, feed.time, update)
        result: Terms = self.map(partial(objective, time=feed.time, update=update), given)
        return result

    @torch.no_grad()
    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """Log-probabilities of true (or, noisy, of given) labels under the stage's method, in eval mode."""
        return self.predict((x, self.draws(1, "predict")), noisy=noisy)

    def predict(self, asked: tuple[Tensor, Tensors], *, noisy: bool) -> Tensor:
        """The same on the device alone, of inputs and random numbers."""
        self.module.eval()
        if self.compiled is not None and self.runs is None:  # a pack's networks are small: they would not gain by it
            return self.compiled.predict(self, *asked, noisy=noisy)
        result: Tensor = self.map(partial(prediction, noisy=noisy), *asked, self.aux)
        return result

    def set_aux(self, aux: Mapping[str, Tensor]) -> bool:
        """Add to what objectives find in `ctx.aux`, if it can be in its old places; whether some are new."""
        new = {name: each for name, each in aux.items() if name not in self.aux or self.aux[name].shape != each.shape}
        self.aux |= {name: torch.empty_like(value) for name, value in new.items()}
        for name, value in aux.items():
            self.aux[name].copy_(value)
        return bool(new)

    def keep_best(self, better: Tensor) -> None:
        """Remember the present weights and estimates of the runs for which `better` holds; of some networks, of all."""
        always = {name for name in self._weights() if owner(name) in self.current[0].unjudged}
        for name, value in self.changing().items():
            flag = better.reshape(better.shape + (1,) * (value.dim() - better.dim())) | (name in always)
            self.best[name] = torch.where(flag, value, self.best.get(name, value))

    def restore_best(self) -> None:
        """Go back to the remembered weights and estimates, where there are any."""
        for name, value in self.changing().items():
            value.copy_(self.best.get(name, value))

    def state(self) -> Tensors:
        """Everything that changes while training, with the run axis first."""
        kept = {"weights": self._weights(), "best": self.best, "aux": self.aux}
        own = {f"{kind}|{name}": self.by_run(value) for kind, named in kept.items() for name, value in named.items()}
        return own | {name: torch.stack(places) for name, places in self._optimiser_places().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave; the stage must have been entered."""
        self.load_weights(state)
        self.best = self._named_state(state, "best")
        for name, places in self._optimiser_places().items():
            for place, saved in zip(places, state[name], strict=True):
                place.copy_(saved)

    def load_weights(self, state: Mapping[str, Tensor]) -> None:
        """Put back the weights there are, and estimates."""
        for name, value in self._weights().items():
            if (key := f"weights|{name}") in state:
                value.copy_(self.stacked(state[key].unbind()))
        self.aux = self._named_state(state, "aux")

    def _named_state(self, state: Mapping[str, Tensor], kind: str) -> Tensors:
        mine = {name.removeprefix(f"{kind}|"): value for name, value in state.items() if name.startswith(f"{kind}|")}
        return {name: self.stacked(value.unbind()).to(self.like.device) for name, value in mine.items()}

    def _optimiser_places(self) -> dict[str, list[Tensor]]:
        return {
            f"optimiser|{update}|{name}": places
            for update, updater in self.updaters.items()
            for name, places in updater.places().items()
        }

    def _weights(self) -> Tensors:
        return {name: value.detach() for name, value in (self.params | self.buffers).items()}

    def changing(self) -> Tensors:
        """Weights and estimates in their places: what belongs to an epoch, and can be gone back to."""
        return self._weights() | {f"aux|{name}": value for name, value in self.aux.items()}

    def _new(self, run: int, *key: int | str) -> Step:
        with seeded_init(self.seeds[run], *key):
            step = Step(self.methods[run].networks(self.spec))
        for module in step.modules():
            if isinstance(module, Dropout):
                module.seed = torch.zeros((), dtype=torch.int64)
        for param in step.parameters():
            param.data = param.data.contiguous()  # fused optimisers write past a parameter that has gaps
        self.execution.lower(step, self.like.device, self.lowers)
        return step.to(device=self.like.device, dtype=self.like.dtype)

    def _updater(self, networks: Sequence[str], settings: Optimiser) -> Updater:
        params = {net: {name: p for name, p in self.params.items() if owner(name) == net} for net in networks}
        method = self.current[0]
        return Updater(params, settings, method.groups(), runs=self.runs, skips=method.skips)

    def _grads(self, loss: Tensor, update: str) -> dict[str, Tensor | None]:
        networks = (update,) if update else self.trains
        mine = {name: param for name, param in self.params.items() if owner(name) in networks}
        return dict(zip(mine, torch.autograd.grad(loss, list(mine.values()), allow_unused=True), strict=True))

    def draws(self, size: int, *key: int | str) -> Tensors:
        """The methods' random numbers for a batch of so many rows, found by this key."""
        if self._source is None:
            return {}
        streams = [Rng(seed, *key, device=self._source, dtype=self.like.dtype) for seed in self.seeds]
        draws = [method.draws(self.spec, size, rng) for method, rng in zip(self.current, streams, strict=True)]
        stacked = {name: self.stacked([draw[name] for draw in draws]) for name in draws[0]}
        return {name: brought(each, self.like.device) for name, each in stacked.items()}

    def _mask_seeds(self, clock: Clock) -> Tensor:
        if not self._masks:
            return self._no_masks
        streams = [Rng(seed, "dropout", clock.epoch, clock.step) for seed in self.seeds]
        return brought(self.stacked([rng.integers(2**32, len(self._masks)) for rng in streams]), self.like.device)
