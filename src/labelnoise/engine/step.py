"""The unit of execution: the networks of a method as one module whose forward is whatever is asked of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.types import Batch, Context, Nets, Terms

Tensors = dict[str, Tensor]
Time = tuple[Tensor, Tensor, Tensor]  # progress, epoch and epochs of the stage


class Clock(NamedTuple):
    """Where in the training a step stands."""

    epoch: int  # of the whole training; with the step it names the random streams
    step: int
    progress: Tensor  # of the stage; these three go into the context
    stage_epoch: Tensor
    stage_epochs: Tensor
    scale: float  # of the learning rate
    beta1: float = 0.0  # of Adam; 0: its own


class Given(NamedTuple):
    """The tensors that an objective is given, in the order of the context."""

    batch: Batch
    peers: tuple[Batch, ...]
    draws: Tensors
    memory: Tensors
    aux: Tensors


class Feed(NamedTuple):
    """All that a step reads and that changes from one step to the next, but for weights."""

    batch: Batch
    peers: tuple[Batch, ...]
    draws: Tensors
    memory: Tensors
    masks: Tensor  # (..., M) seeds of the networks' dropout masks
    time: Time


class Step(nn.Module):
    """Networks by name as one module: `step(function, *args)` is `function(nets, *args)`.

    One call is one forward, however many networks and passes are inside, so it can be mapped, compiled or distributed.
    """

    def __init__(self, nets: Mapping[str, nn.Module]) -> None:
        super().__init__()
        # A wrapped method's networks are called `teacher.net`, and torch keeps the dot for itself.
        self.nets = nn.ModuleDict({name.replace(".", "/"): net for name, net in nets.items()})

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` with the networks."""
        return function(self.networks, *args)

    @property
    def networks(self) -> Nets:
        """The networks under the names their method gave them."""
        return {name.replace("/", "."): net for name, net in self.nets.items()}

    def train_only(self, names: tuple[str, ...]) -> None:
        """Training mode for these networks, eval mode for the others."""
        for name, net in self.networks.items():
            net.train(name in names)


def of_run(module: Step, method: Method, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(method, nets, *args)` of weights, buffers, hyper-parameters and args; the module is their shell."""

    def called(params: Tensors, buffers: Tensors, hypers: Tensors, *args: Any) -> Any:
        told = partial(function, replace(method, **hypers))
        return functional_call(module, (params, buffers), (told, *args))

    return called


def owner(parameter: str) -> str:
    """The network to which a parameter or buffer of a `Step` belongs."""
    return parameter.split(".")[1].replace("/", ".")


def chosen(wanted: Iterable[str], networks: Iterable[str]) -> tuple[str, ...]:
    """The networks of these names, or that begin with one that ends in a dot."""
    names = tuple(wanted)
    prefixes = tuple(name for name in names if name.endswith("."))
    return tuple(net for net in networks if net in names or (prefixes and net.startswith(prefixes)))


def follow(weights: Mapping[str, Tensor], averages: Mapping[str, tuple[str, float]]) -> None:
    """Move each averaging network a little towards the one it follows: its weights, and its BatchNorm statistics."""
    for mean, (followed, decay) in averages.items():
        for name, value in weights.items():
            if owner(name) == mean:
                now = weights[".".join([name.split(".")[0], followed.replace(".", "/"), *name.split(".")[2:]])]
                value.copy_(value.lerp(now, 1 - decay) if value.is_floating_point() else now)


def objective(method: Method, nets: Nets, given: Given, *, time: tuple[Tensor, Tensor, Tensor], update: str) -> Terms:
    """A method's objective; the context is put together inside a map over runs, so that what is static stays static."""
    ctx = Context(given.peers, given.draws, given.memory, given.aux, *time, update)
    return checked(method, method.objective(nets, given.batch, ctx))


def checked(method: Method, terms: Terms) -> Terms:
    """What an objective gives; an error where that is not a loss of one number."""
    if not isinstance(terms, Terms):
        raise InputError(
            f"the objective of {_called(method)} gives a {type(terms).__name__}; let it return Terms(loss)"
        )
    if not isinstance(terms.loss, Tensor):
        raise InputError(
            f"the loss of {_called(method)} is a {type(terms.loss).__name__}; make it a tensor of one number"
        )
    if terms.loss.dim():
        shape = tuple(terms.loss.shape)
        raise InputError(f"the loss of {_called(method)} has shape {shape}; make it one number, such as by .mean()")
    return terms


def transition(method: Method, nets: Nets, aux: Tensors) -> Tensors:
    """T by name, of methods that have one."""
    return dict(method.transition(nets, Context(aux=aux)))


def prediction(method: Method, nets: Nets, x: Tensor, draws: Tensors, aux: Tensors, *, noisy: bool) -> Tensor:
    """A method's log-probabilities of true labels or, noisy, of given ones."""
    start = torch.zeros((), dtype=torch.float64, device=x.device)  # not the defaults, which torch 2.11 cannot compile
    ctx = Context(draws=draws, aux=aux, progress=start, epoch=start, epochs=start + 1)
    return method.noisy_log_probs(nets, x, ctx) if noisy else method.log_probs(nets, x, ctx)


def _called(method: Method) -> str:
    return f"method {(method.name or type(method).__name__)!r}"
