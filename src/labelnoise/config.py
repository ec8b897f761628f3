"""Settings as a tree of frozen dataclasses; a run's identity is the hash of all of its own."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Literal, get_args

from labelnoise.errors import InputError
from labelnoise.registry import nearest

Value = float | int | str | bool | None
OptimiserName = Literal["adam", "adamw", "sgd", "adagrad", "lars"]
ScheduleName = Literal["constant", "cosine", "step", "linear"]
SearchKind = Literal["random", "grid"]
Carry = Literal["method", "last"]


def _check_known(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise InputError(f"unknown {kind} {name!r}; {nearest(name, known)}")


@dataclass(frozen=True)
class Optimiser:
    """Which `torch.optim` optimiser, and its numbers."""

    name: OptimiserName = "adam"  # as torch.optim calls it; lars is for very large batches
    lr: float = 1e-3  # learning rate at the start
    weight_decay: float = 0.0  # as the optimiser itself understands it
    momentum: float = 0.0  # sgd and lars only
    nesterov: bool = False  # sgd only
    betas: tuple[float, float] = (0.9, 0.999)  # adam and adamw only
    trust: float = 1e-3  # lars only: a layer's step is so large a share of its weights, times the learning rate
    renew: bool = False  # forgets past gradients at every epoch's beginning: momentum, Adam's averages and its count

    def __post_init__(self) -> None:
        _check_known("optimiser", self.name, get_args(OptimiserName))
        if not 0 < self.lr < inf:
            raise InputError(f"lr must be a number above 0, not {self.lr}")
        if not 0 <= self.weight_decay < inf:
            raise InputError(f"weight_decay must be a number and not negative, but is {self.weight_decay}")
        if not 0 <= self.momentum < 1:
            raise InputError(f"momentum must be at least 0 and below 1, not {self.momentum}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise InputError(f"both betas must be at least 0 and below 1, but they are {self.betas}")
        if not 0 < self.trust < inf:
            raise InputError(f"trust must be a number above 0, not {self.trust}")


@dataclass(frozen=True)
class Schedule:
    """The factor on the learning rate as the epochs of a stage go by.

    constant: 1. cosine: from 1 to 0. step: times `gamma` at each epoch of `milestones`. linear: 1 until epoch `start`,
    then straight to 0 at the end. With any of them Adam's first beta may become another one at epoch `start`.
    """

    name: ScheduleName = "constant"  # the form of the factor
    milestones: tuple[int, ...] = ()  # step only: epochs at which the factor falls
    gamma: float = 0.1  # step only: what the factor is multiplied by
    start: int = 0  # linear: the epoch until which the factor stays 1; beta1: the epoch from which it holds
    beta1: float = 0.0  # adam and adamw only: the first beta from epoch `start` on; 0 leaves it as it is

    def __post_init__(self) -> None:
        _check_known("schedule", self.name, get_args(ScheduleName))
        if not 0 <= self.gamma < inf:
            raise InputError(f"gamma must be a number and not negative, but is {self.gamma}")
        if any(epoch < 0 for epoch in (*self.milestones, self.start)):
            raise InputError(f"milestones {self.milestones} and start {self.start} are epochs: none may be negative")
        if not 0 <= self.beta1 < 1:
            raise InputError(f"beta1 must be at least 0 and below 1, not {self.beta1}")


@dataclass(frozen=True)
class Augment:
    """What is done to training images batch by batch, in this order; the mean and std also to evaluated ones."""

    crop: int = 0  # pixels of zero padding before a random crop of the original size
    flip: bool = False  # left to right, every other image
    upside_down: bool = False  # top to bottom, every other image
    rotation: float = 0.0  # up to so many degrees either way
    mean: tuple[float, ...] = ()  # subtracted, one number per channel; [] leaves images as they are
    std: tuple[float, ...] = ()  # divided by, one number per channel


@dataclass(frozen=True)
class WarmUp:
    """How a stage called warm-up is trained, where that is otherwise than the rest."""

    lr: float = 0.0  # learning rate; 0: as the rest, and so is the schedule
    schedule: Schedule = Schedule()

    def __post_init__(self) -> None:
        if not 0 <= self.lr < inf:
            raise InputError(f"lr of a warm-up must be a number and not negative, but is {self.lr}")


@dataclass(frozen=True)
class Train:
    """How to train, whatever the method."""

    epochs: int = 40  # of each run, all stages together
    batch: int = 64  # examples per step
    balanced: int = 0  # rows of each class in an epoch, by given label, drawn anew each epoch; 0 takes every row once
    accumulate: int = 1  # pieces in which a network computes its rows of a step, for less memory
    carry: Carry = "method"  # what a stage hands to the next: what its method says, mostly the best epoch, or the last
    sync_batchnorm: bool = False  # of several processes: BatchNorm goes by the rows of all, not of each
    optimiser: Optimiser = Optimiser()
    schedule: Schedule = Schedule()
    warm_up: WarmUp = WarmUp()
    augment: Augment = Augment()

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, not {self.epochs}")
        if self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")
        if self.balanced < 0:
            raise InputError(f"balanced must be a number of rows, or 0, not {self.balanced}")
        if self.accumulate < 1:
            raise InputError(f"accumulate must be at least 1, not {self.accumulate}")
        _check_known("carry", self.carry, get_args(Carry))


@dataclass(frozen=True)
class Split:
    """Which share of the data is kept for noisy validation and for the test; the rest is trained on."""

    validation: float = 0.1  # with noisy labels; chooses the epoch
    test: float = 0.2  # for the accuracies in the table
    rows: int = 0  # drawn by seed and split, others left aside; rows kept for the test do not count; 0: all

    def __post_init__(self) -> None:
        for name, share in (("validation", self.validation), ("test", self.test)):
            if not 0 < share < 1:
                raise InputError(f"the {name} share must lie between 0 and 1, not {share}")
        if self.validation + self.test >= 1:
            raise InputError("validation and test together leave nothing to train on")
        if self.rows < 0:
            raise InputError(f"rows must be a number of rows, or 0 for all, not {self.rows}")


@dataclass(frozen=True)
class Named:
    """A thing from a registry with the settings that differ from its defaults."""

    name: str  # as `labelnoise list` shows it
    settings: Mapping[str, Value] = field(default_factory=dict)  # those left out keep their defaults


DEFAULT_METHODS = tuple(map(Named, ("ce", "gce", "forward", "mixup", "co_teaching", "heteroscedastic")))


@dataclass(frozen=True)
class Data:
    """Where the examples come from, and what the parts of a file mean."""

    source: str = "digits"  # a built-in name, or the path of a CSV, Parquet, npz or npy file or a folder of images
    label_column: str = ""  # of a table; "" is the column called label
    true_label_column: str = ""  # of a table, where the truth is known
    id_column: str = ""  # of a table; "" numbers the rows
    image_column: str = ""  # of a table that lists image files; "" is the column called path, if it names images
    drop: tuple[str, ...] = ()  # columns that are no inputs
    categorical: tuple[str, ...] = ()  # columns of numbers that are names
    labels: str = ""  # file of given labels beside a .npy file of inputs
    true_labels: str = ""  # file of true labels beside it
    image_size: int = 0  # images are scaled to so many pixels in height and width; 0 leaves them, and they must agree
    fingerprint: str = ""  # of what was read, filled in: a file of that name may change

    def __post_init__(self) -> None:
        if self.image_size < 0:
            raise InputError(f"image_size must be a number of pixels, or 0, not {self.image_size}")


@dataclass(frozen=True)
class RunConfig:
    """One run: what is learnt from, by which method, on which network, how, and with which seed."""

    data: Data = Data()
    noise: str = "symmetric:0.4"
    transition: str = ""  # digest of the noise's matrix: a file of that name may change
    method: Named = Named("ce")
    code: str = ""  # digest of the method's file where it is none of the package: it may change
    net: Named = Named("mlp")
    train: Train = Train()
    split: Split = Split()
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, as they go into JSON."""
        return asdict(self)

    @cached_property
    def identity(self) -> str:
        """Sixteen hexadecimal digits that change with every setting."""
        return digest(essential(self.to_dict()))


@dataclass(frozen=True)
class Search:
    """A search over the ranges of a method's hyper-parameters, judged on noisy validation with seed 0."""

    trials: int = 0  # settings tried per method; 0 takes the settings as they are
    kind: SearchKind = "random"  # draws from the ranges, or a grid over them

    def __post_init__(self) -> None:
        _check_known("kind of search", self.kind, get_args(SearchKind))
        if self.trials < 0:
            raise InputError(f"trials must not be negative, but is {self.trials}")


@dataclass(frozen=True)
class Job:
    """A comparison, what `labelnoise train` does: every method with every seed on the same data."""

    data: Data = Data()
    noise: str = "symmetric:0.4"  # added to the labels; none leaves them as they are
    methods: tuple[Named, ...] = DEFAULT_METHODS  # by name, with the settings that differ from their defaults
    seeds: int = 3  # runs per method, with seeds 0, 1, 2, …
    search: Search = Search()
    net: Named = Named("mlp")
    train: Train = Train()
    split: Split = Split()

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds must be at least 1, not {self.seeds}")
        if not self.methods:
            raise InputError("methods is empty; name at least one, such as ce,gce")


LATER = {"optimiser": "renew", "augment": "upside_down"}  # settings of train that came after runs had been kept


def essential(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that tell runs apart: of data with a fingerprint it is the fingerprint, wherever they lie.

    A setting that came later is left out where it is off, so that runs from before it still count.
    """
    mark = config["data"].get("fingerprint")
    found = {**config, "data": {"fingerprint": mark}} if mark else dict(config)
    train = dict(config.get("train", {}))
    for part, name in LATER.items():
        if train.get(part, {}).get(name) is False:
            train[part] = {key: value for key, value in train[part].items() if key != name}
    return found | {"train": train} if train else found


def digest(settings: Any) -> str:
    """The hash of plain containers, independent of the order of keys."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
