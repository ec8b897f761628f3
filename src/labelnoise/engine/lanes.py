"""A lane is a set of networks stepped together: one run's, or those of a whole pack stacked along a run axis."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from labelnoise.config import Optimiser
from labelnoise.engine.optim import Updater
from labelnoise.engine.step import Clock, Given, Step, Tensors, chosen, follow, objective, owner, prediction
from labelnoise.methods.base import Method, Stage, hyper_fields
from labelnoise.nets.dropout import Dropout
from labelnoise.rng import Rng, seeded_init
from labelnoise.types import Batch, DataSpec, Terms


class Lane(ABC):
    """Runs of one structure: their weights, their optimisers and the stage they are in."""

    module: Step
    params: Tensors
    buffers: Tensors
    runs: int | None  # length of the run axis, None without one

    def __init__(self, methods: Sequence[Method], spec: DataSpec, seeds: Sequence[int], like: Tensor) -> None:
        self.methods, self.spec, self.seeds, self.like = tuple(methods), spec, tuple(seeds), like
        self.aux: Tensors = {}
        self.best: Tensors = {}
        self._take([self._new(run, "init") for run in range(len(self.seeds))])

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
        self.updaters = {name: self._updater((name,) if name else self.trains, settings) for name in updates}

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
        losses: list[Tensor] = []
        logs: Tensors = {}
        written: Tensors = {}
        kept: Tensors = {}
        for update, updater in self.updaters.items():
            terms = self.terms(batch, peers, memory | written, clock, update)
            updater.step(self._grads(terms.loss.sum(), update), clock.scale, terms.active, clock.beta1)
            losses.append(terms.loss.detach())
            logs |= {name: value.detach() for name, value in terms.logs.items()}
            written |= {name: value.detach() for name, value in terms.memory.items()}
            kept |= {name: value.detach() for name, value in terms.kept.items()}
        follow(self._weights(), self.current[0].averages())
        return Terms(torch.stack(losses).sum(0), logs, written, kept=kept)

    def terms(self, batch: Batch, peers: tuple[Batch, ...], memory: Tensors, clock: Clock, update: str = "") -> Terms:
        """The objective alone, in training mode; its random numbers are those of the clock."""
        draws = self.draws(batch.y.shape[-1], "draws", clock.epoch, clock.step)
        self._seed_dropout(clock)
        self.module.train_only(self.trains)
        given = Given(batch, peers, draws, memory, self.aux)
        result: Terms = self.map(partial(objective, clock=clock, update=update), given)
        return result

    @torch.no_grad()
    def log_probs(self, x: Tensor, *, noisy: bool = False) -> Tensor:
        """Log-probabilities of true (or, noisy, of given) labels under the stage's method, in eval mode."""
        self.module.eval()
        result: Tensor = self.map(partial(prediction, noisy=noisy), x, self.draws(1, "predict"), self.aux)
        return result

    def keep_best(self, better: Tensor) -> None:
        """Remember the present weights and estimates of the runs for which `better` holds; of some networks, of all."""
        always = {name for name in self._weights() if owner(name) in self.current[0].unjudged}
        for name, value in self._changing().items():
            flag = better.reshape(better.shape + (1,) * (value.dim() - better.dim())) | (name in always)
            self.best[name] = torch.where(flag, value, self.best.get(name, value))

    def restore_best(self) -> None:
        """Go back to the remembered weights and estimates, where there are any."""
        for name, value in self._changing().items():
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

    def _changing(self) -> Tensors:
        return self._weights() | {f"aux|{name}": value for name, value in self.aux.items()}

    def _new(self, run: int, *key: int | str) -> Step:
        with seeded_init(self.seeds[run], *key):
            step = Step(self.methods[run].networks(self.spec))
        for module in step.modules():
            if isinstance(module, Dropout):
                module.seed = torch.zeros((), dtype=torch.int64)
        for param in step.parameters():
            param.data = param.data.contiguous()  # fused optimisers write past a parameter that has gaps
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
        streams = [Rng(seed, *key, device=self.like.device, dtype=self.like.dtype) for seed in self.seeds]
        draws = [method.draws(self.spec, size, rng) for method, rng in zip(self.current, streams, strict=True)]
        return {name: self.stacked([draw[name] for draw in draws]) for name in draws[0]}

    def _seed_dropout(self, clock: Clock) -> None:
        masks = [f"{name}.seed" for name, module in self.module.named_modules() if isinstance(module, Dropout)]
        if masks:
            streams = [Rng(seed, "dropout", clock.epoch, clock.step, device=self.like.device) for seed in self.seeds]
            drawn = self.stacked([rng.integers(2**32, len(masks)) for rng in streams])
            for place, name in enumerate(masks):
                self.buffers[name].copy_(drawn[..., place])


class Alone(Lane):
    """One run, called as the ordinary module it is."""

    runs = None

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """One plain call."""
        return self.module(partial(function, self.current[0]), *args)

    def stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        """The one there is."""
        return tensors[0]

    def by_run(self, tensor: Tensor) -> Tensor:
        """A run axis of length one."""
        return tensor.unsqueeze(0)

    def _take(self, modules: Sequence[Step]) -> None:
        self.module = modules[0]
        self.params, self.buffers = dict(self.module.named_parameters()), dict(self.module.named_buffers())


class Stacked(Lane):
    """Many runs as one call, mapped over stacked weights, buffers, labels, draws and hyper-parameters."""

    def enter(self, index: int, optimiser: Optimiser) -> None:
        """Begin a stage; hyper-parameters become one number per run."""
        super().enter(index, optimiser)
        values = {name: [getattr(method, name) for method in self.current] for name in hyper_fields(self.current[0])}
        numbers = {name: torch.tensor(each, dtype=torch.float64) for name, each in values.items()}
        self.hypers = {name: each.to(self.like.device) for name, each in numbers.items()}

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """One mapped call."""

        def mapped(params: Tensors, buffers: Tensors, hypers: Tensors, *args: Any) -> Any:
            method = replace(self.current[0], **hypers)
            return functional_call(self.module, (params, buffers), (partial(function, method), *args))

        return vmap(mapped)(self.params, self.buffers, self.hypers, *args)

    def stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        """Along a new first axis."""
        return torch.stack(list(tensors))

    def by_run(self, tensor: Tensor) -> Tensor:
        """As it is."""
        return tensor

    def _take(self, modules: Sequence[Step]) -> None:
        self.runs = len(modules)
        self.module = modules[0]
        stacked, self.buffers = stack_module_state(list(modules))
        # The gradient of a mapped linear layer comes transposed: weights that lie so in memory spare a copy per step.
        self.params = {
            name: value.detach().mT.contiguous().mT.requires_grad_() if value.dim() == 3 else value
            for name, value in stacked.items()
        }
