"""What a loop of one's own has not told a method, or told wrongly: it is missed or refused with a sentence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from labelnoise.errors import InputError
from labelnoise.methods.base import Estimate, Stage
from labelnoise.rng import seeded_init
from labelnoise.types import Batch, Context, DataSpec, Head, Snapshot

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


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


@dataclass(frozen=True)
class Maker:
    """The maker of networks, with sentences for what it cannot make; as easily pickled as the function in it."""

    net: Callable[[Any], nn.Module]

    def __post_init__(self) -> None:
        if isinstance(self.net, nn.Module) or not callable(self.net):
            raise InputError(
                "net must be a function that makes a new network, net(outputs), and not a network, for a method may "
                "need several that begin differently; write net=lambda outputs: …"
            )

    def __call__(self, head: Head) -> nn.Module:
        """A new network, which gives logits where its head is a number."""
        network = self._made(head)
        if not isinstance(network, nn.Module):
            raise InputError(f"net must return a torch module, not {type(network).__name__}")
        if any(isinstance(param, UninitializedParameter) for param in network.parameters()):
            raise InputError(
                "net returns a network with lazy layers, which have no weights yet; give each layer its number of "
                "inputs, or run the network once before net returns it"
            )
        if isinstance(head, int):
            network.register_forward_hook(_logits)
        return network

    def _made(self, head: Head) -> nn.Module:
        try:
            return self.net(head)
        except (TypeError, ValueError, RuntimeError) as problem:
            if isinstance(head, int) or isinstance(problem, InputError):
                raise
            raise InputError(
                "the method has a head of its own, so head may be a function and no number; end the network that "
                f"net(head) makes with labelnoise.nets.make_head(features, head) ({problem})"
            ) from problem


def _logits(network: nn.Module, inputs: object, output: Any) -> Tensor:
    # classifiers of Hugging Face, and torchvision's Inception in training, return an object that has them
    logits = getattr(output, "logits", output)
    if not isinstance(logits, Tensor):
        raise InputError(
            f"the network that net makes must return logits, a tensor (B, K), not {type(output).__name__}; "
            "wrap it in a module that returns them alone"
        )
    return logits


def check_call(net: Callable[..., nn.Module], settings: Mapping[str, Any]) -> None:
    """An error where a maker of networks does not take its number of outputs and these settings."""
    try:
        signature(net).bind(1, **settings)
    except TypeError as problem:
        call = ", ".join(["outputs", *(f"{name}=…" for name in settings)])
        raise InputError(f"net cannot be called as net({call}): {problem}") from None
    except ValueError:  # a function that is not written in Python does not tell
        return


def check_network(spec: DataSpec) -> None:
    """An error where a network cannot take inputs of this shape, or gives other numbers than one for each class."""
    with seeded_init(0, "check"):  # so that nobody else's random numbers change
        network = spec.net(spec.classes).to("cpu", torch.float32)
        told = f"take inputs of shape (rows, {', '.join(map(str, spec.shape))})"
        shape = _answer(network.eval(), torch.zeros(2, *spec.shape), told)
        if spec.batch == 1:  # in which normalisation over a batch finds no spread
            told = "learn from a batch of one row; give more rows, or larger batches"
            _answer(network.train(), torch.zeros(1, *spec.shape), told)
    if shape != (2, spec.classes):
        raise InputError(
            f"the network that net makes gives a tensor of shape {shape} for 2 rows and {spec.classes} classes; end it "
            "with as many outputs as net is told"
        )


def _answer(network: nn.Module, x: Tensor, told: str) -> tuple[int, ...]:
    """The shape of what a network makes of inputs; `told` is what it cannot do where it fails."""
    try:
        with torch.no_grad():
            return tuple(network(x).shape)
    except (TypeError, ValueError, RuntimeError, IndexError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"the network that net makes cannot {told}: {problem}") from problem


def estimated(
    estimate: Estimate | None, classes: int, done: float, probs: Tensor | None = None, labels: Tensor | None = None
) -> Mapping[str, Tensor] | None:
    """What a stage estimates from the training set; None where that takes rows and none are given.

    It is asked without rows as well, since a T that is known comes out all the same.
    """
    if probs is not None and labels is not None:
        _check_snapshot(probs, labels, classes)
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


def check_batch(y: Tensor, rows: Tensor | None = None) -> None:
    """An error where given labels are none, or positions do not belong to them."""
    if not _whole(y):
        raise InputError(f"labels must be a tensor (B,) of whole numbers, not {_told(y)}; soft ones are not taken")
    if not len(y):
        raise InputError("the batch has no rows; leave it out")
    if rows is not None and not (_whole(rows) and len(rows) == len(y)):
        raise InputError(f"rows must be {len(y)} whole numbers, as many as there are labels, not {_told(rows)}")


def check_peers(peers: Sequence[tuple[Any, Tensor]], size: int) -> None:
    """An error where a further batch is none, or of another size, since inputs of one meet labels of another."""
    for _, y in peers:
        check_batch(y)
        if len(y) != size:
            raise InputError(f"every peer must have the {size} rows of the batch, but one has {len(y)}")


def _check_snapshot(probs: Tensor, labels: Tensor, classes: int) -> None:
    if not (_whole(labels) and probs.shape == (len(labels), classes) and len(labels)):
        raise InputError(
            f"probs must be (N, {classes}) and labels N whole numbers, not {_told(probs)} and {_told(labels)}"
        )
    if (probs < 0).any():
        raise InputError("probs must be probabilities, but some are negative; of log-probabilities take .exp()")


def _whole(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 1 and value.dtype in INTEGERS


def _told(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"
