"""The settings of one run as a tree of frozen dataclasses; a run's identity is the hash of all of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, Literal, get_args

from labelnoise.errors import InputError
from labelnoise.registry import nearest

Value = float | int | str | bool | None
OptimiserName = Literal["adam", "adamw", "sgd", "adagrad"]
ScheduleName = Literal["constant", "cosine", "step", "linear"]


def _check_known(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise InputError(f"unknown {kind} {name!r}; {nearest(name, known)}")


@dataclass(frozen=True)
class Optimiser:
    """Which `torch.optim` optimiser, and its numbers."""

    name: OptimiserName = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    momentum: float = 0.0  # sgd only
    nesterov: bool = False  # sgd only
    betas: tuple[float, float] = (0.9, 0.999)  # adam and adamw only

    def __post_init__(self) -> None:
        _check_known("optimiser", self.name, get_args(OptimiserName))
        if not 0 < self.lr < inf:
            raise InputError(f"lr must be a number above 0, not {self.lr}")
        if not 0 <= self.weight_decay < inf:
            raise InputError(f"weight_decay must be a number and not negative, but is {self.weight_decay}")


@dataclass(frozen=True)
class Schedule:
    """The factor on the learning rate as the epochs of a stage go by.

    constant: 1. cosine: from 1 to 0. step: times `gamma` at each epoch of `milestones`. linear: 1 until epoch `start`,
    then straight to 0 at the end.
    """

    name: ScheduleName = "constant"
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1
    start: int = 0

    def __post_init__(self) -> None:
        _check_known("schedule", self.name, get_args(ScheduleName))


@dataclass(frozen=True)
class Augment:
    """What is done to training images batch by batch, in this order; the mean and std also to evaluated ones."""

    crop: int = 0  # pixels of zero padding before a random crop of the original size
    flip: bool = False  # left to right, every other image
    rotation: float = 0.0  # up to so many degrees either way
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


@dataclass(frozen=True)
class Train:
    """How to train, whatever the method."""

    epochs: int = 40
    batch: int = 64
    optimiser: Optimiser = Optimiser()
    schedule: Schedule = Schedule()
    augment: Augment = Augment()

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, not {self.epochs}")
        if self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")


@dataclass(frozen=True)
class Split:
    """Which share of the data is kept for noisy validation and for the test; the rest is trained on."""

    validation: float = 0.1
    test: float = 0.2

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 < share < 1:
                raise InputError(f"the {name} share must lie between 0 and 1, not {share}")
        if self.validation + self.test >= 1:
            raise InputError("validation and test together leave nothing to train on")


@dataclass(frozen=True)
class Named:
    """A thing from a registry with the settings that differ from its defaults."""

    name: str
    settings: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class RunConfig:
    """One run: what is learnt from, by which method, on which network, how, and with which seed."""

    data: str = "digits"
    noise: str = "symmetric:0.4"
    transition: str = ""  # digest of the noise's matrix: a file of that name may change
    method: Named = Named("ce")
    net: Named = Named("mlp")
    train: Train = Train()
    split: Split = Split()
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, as they go into JSON."""
        return asdict(self)

    @property
    def identity(self) -> str:
        """Sixteen hexadecimal digits that change with every setting."""
        return digest(self.to_dict())


def digest(settings: Any) -> str:
    """The hash of plain containers, independent of the order of keys."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
