"""What a loop of one's own has not told a method: it is missed when the method asks for it, with a sentence."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.methods.base import Estimate, Stage
from labelnoise.types import Batch, Context, DataSpec, Head, NetFactory, Snapshot


def _missing(sentence: str) -> Any:
    def ask(_: object) -> None:
        raise InputError(sentence)

    return property(ask)


class Rowless(Batch):
    """A batch without its positions in the training set."""

    rows = _missing("the method keeps something for each training row; call step(x, y, rows) with their positions")


class Timeless(Context):
    """A context before any epoch has begun."""

    progress = epoch = epochs = _missing(
        "the method changes with the epochs; call step.begin_epoch(epoch, epochs) before each one, counted from 0"
    )


class Spec(DataSpec):
    """A specification in which the shape of an input and the number of training rows may be left open."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        if not self[0]:
            raise InputError("the method must know the shape of one input; give shape=, such as shape=(3, 32, 32)")
        return self[0]

    @property
    def samples(self) -> int:
        """In the training set."""
        if not self[2]:
            raise InputError("the method keeps something for each training row; give train_size=, the number of rows")
        return self[2]


def factory(net: Callable[[Any], nn.Module]) -> NetFactory:
    """The maker of networks, with sentences for what it cannot make."""
    if isinstance(net, nn.Module) or not callable(net):
        raise InputError(
            "net must be a function that makes a new network, net(outputs), and not a network, for a method may need "
            "several that begin differently; write net=lambda outputs: …"
        )

    def made(head: Head) -> nn.Module:
        try:
            network = net(head)
        except (TypeError, ValueError, RuntimeError) as problem:
            if isinstance(head, int) or isinstance(problem, InputError):
                raise
            raise InputError(
                "the method has a head of its own, so head may be a function and no number; end the network that "
                f"net(head) makes with labelnoise.nets.make_head(features, head) ({problem})"
            ) from problem
        if not isinstance(network, nn.Module):
            raise InputError(f"net must return a torch module, not {type(network).__name__}")
        return network

    return made


def estimated(
    estimate: Estimate | None, classes: int, done: float, probs: Tensor | None = None, labels: Tensor | None = None
) -> Mapping[str, Tensor] | None:
    """What a stage estimates from the training set; None where that takes rows and none are given.

    It is asked without rows as well, since a T that is known comes out all the same.
    """
    if estimate is None:
        return {}
    if probs is not None and labels is not None:
        return estimate(Snapshot(probs.detach(), labels.to(probs.device), done))
    try:
        found = estimate(Snapshot(torch.empty(0, classes), torch.empty(0, dtype=torch.int64), done))
    except (InputError, RuntimeError, IndexError):
        return None
    return found if all(value.numel() and value.isfinite().all() for value in found.values()) else None


def unready(stage: str) -> InputError:
    """What to say of a stage that estimates something, where that has not been done."""
    return InputError(
        f"stage {stage!r} looks at the training set before it begins; call step.begin_stage({stage!r}, probs, labels) "
        "with probabilities (N, K), such as step.log_probs(x).exp(), and given labels (N,)"
    )


def check_told(stage: Stage, ready: bool, peers: int, update: str) -> None:
    """An error where a call lacks what the stage's method declares that it needs."""
    wanted, updates = stage.method.peers, stage.method.updates
    if not ready:
        raise unready(stage.name)
    if peers != wanted:
        raise InputError(
            f"peers must be {wanted} further batches, each shuffled on its own, not {peers}; "
            "call step(x, y, peers=[(x1, y1), (x2, y2)])"
        )
    if update not in updates:
        raise InputError(f"update {update!r} is none of {updates}; call step(x, y, update=…) with each in turn")
