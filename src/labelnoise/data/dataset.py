"""A labelled data set that has been checked, and the registry of data sets by name."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.pictures import Pictures
from labelnoise.errors import InputError
from labelnoise.registry import Registry, nearest
from labelnoise.types import Array

MOST_NUMBERED_CLASSES = 100_000  # labels above it are identifiers or targets of a regression, given by mistake


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs with the labels they were given and, where known, the true ones; classes are carried by name."""

    name: str
    x: Tensor | Pictures  # (N, ...) floats, or uint8 pixels, in memory or on disk
    y_given: Tensor  # (N,) int64, possibly wrong
    y_true: Tensor | None  # (N,) int64; -1: the input belongs to none of the classes (open-set noise)
    classes: tuple[str, ...]
    ids: tuple[str, ...] = ()  # row numbers unless given
    test: Tensor | None = None  # rows that whoever made the data keeps for the test; None: any may be
    notes: tuple[str, ...] = ()  # what was done to the data while they were read, a sentence each
    encoding: Mapping[str, Any] = field(default_factory=dict)  # how inputs were made, in plain containers
    known_as: str = ""  # name of the built-in data set that the rows are of
    assumed: bool = False  # that y_true is right: it is what was given before noise was added

    def __post_init__(self) -> None:
        _check_inputs(self.name, self.x)
        if not self.ids:
            object.__setattr__(self, "ids", tuple(map(str, range(len(self)))))
        for name in ("y_given", "y_true", "ids"):
            _check_length(name, getattr(self, name), len(self))
        _check_classes(self.classes)
        _check_labels("y_given", self.y_given, len(self.classes))
        if self.y_true is not None:
            _check_labels("y_true", self.y_true, len(self.classes), least=-1)
        if (self.y_given == self.y_given[0]).all():
            only = self.classes[int(self.y_given[0])]
            raise InputError(f"y_given holds only class {only!r}; at least two classes must occur")
        _check_unique("id", self.ids)
        if self.test is not None and not 0 < len(self.test) < len(self):
            raise InputError(f"{len(self.test)} of {len(self)} rows are kept for the test; keep some, not all")

    @classmethod
    def from_arrays(
        cls,
        x: Array,
        y: Array,
        *,
        y_true: Array | None = None,
        classes: Sequence[str] | None = None,
        ids: Sequence[str] = (),
        name: str = "data",
        encoding: Mapping[str, Any] | None = None,
    ) -> "Dataset":
        """From arrays or tensors: uint8 stays, other inputs become float32; without names classes are 0 to max(y)."""
        labels = _integers("y", y)
        true = None if y_true is None else _integers("y_true", y_true)
        names = _numbered(labels) if classes is None else tuple(classes)
        return cls(name, _inputs(x), labels, true, names, tuple(ids), encoding=encoding or {})

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        return tuple(self.x.shape[1:])

    @property
    def learnable(self) -> Tensor:
        """The rows that are not kept for the test, in ascending order."""
        kept = torch.ones(len(self), dtype=torch.bool)
        if self.test is not None:
            kept[self.test] = False
        return kept.nonzero().squeeze(1)

    @property
    def noise_rate(self) -> float | None:
        """The realised share of wrong labels among the learnable rows, or None where the truth is unknown."""
        if self.y_true is None:
            return None
        return (self.y_given != self.y_true)[self.learnable].double().mean().item()

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with every input, label, class name, id and kept test row.

        Of images on disk it is their paths in the folder and how they are cut that count, not their pixels.
        """
        content = hashlib.sha256(repr((self.classes, self.ids, tuple(self.x.shape), self.x.dtype)).encode())
        for tensor in (_content(self.x), self.y_given, self.y_true, self.test):
            content.update(b"none" if tensor is None else tensor.contiguous().numpy().data)
        return content.hexdigest()[:16]


Builder = Callable[[int], Dataset]
DATASETS: Registry[Builder] = Registry("data set")


def builder(name: str) -> Builder:
    """What makes the registered data set of a name that might have been that of a file or folder as well."""
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}, and no file or folder of that name; {nearest(name, DATASETS)}")
    return DATASETS.get(name)


def load(name: str, seed: int) -> Dataset:
    """The registered data set of this name; the seed matters to generated ones only."""
    return builder(name)(seed)


def _numbered(labels: Tensor) -> tuple[str, ...]:
    most = int(labels.max()) if len(labels) else 0
    if most > MOST_NUMBERED_CLASSES:
        row = int(labels.argmax())
        raise InputError(f"y holds {most} in row {row}, too large for a class; number the classes from 0")
    return tuple(map(str, range(most + 1)))


def _numeric(name: str, values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers, not {array.dtype}; encode it first")
    return array


def _inputs(x: Array) -> Tensor:
    if isinstance(x, Tensor):
        return x if x.dtype == torch.uint8 else x.float()
    array = _numeric("x", x)
    return torch.from_numpy(array.astype(np.uint8 if array.dtype == np.uint8 else np.float32, order="C"))


def _integers(name: str, y: Array) -> Tensor:
    if isinstance(y, Tensor):
        y = (y.double() if y.is_floating_point() else y).detach().cpu().numpy()
    array = np.atleast_1d(_numeric(name, y))
    if array.dtype.kind == "f":
        odd = np.flatnonzero(array != np.floor(array))  # NaN differs from itself
        where = f"row {odd[0]} holds {array.flat[odd[0]]:g}" if len(odd) else f"its type is {array.dtype}; convert it"
        raise InputError(f"{name} must hold integers, but {where}")
    return torch.from_numpy(array.astype(np.int64))


def _content(x: Tensor | Pictures) -> Tensor:
    if isinstance(x, Tensor):
        return x
    cut = f"{x.size} of {x.resize}".encode()
    return torch.frombuffer(bytearray(b"\0".join([cut, *x.paths.tolist()])), dtype=torch.uint8)


def _check_inputs(name: str, x: Tensor | Pictures) -> None:
    if not prod(x.shape):
        raise InputError(f"data set {name!r} is empty, for x has shape {tuple(x.shape)}; give rows of two classes")
    if isinstance(x, Pictures):
        return
    if x.ndim < 2:
        raise InputError(f"x must have a row for each example, (N, ...), not shape {tuple(x.shape)}")
    if not x.is_floating_point() and x.dtype != torch.uint8:
        raise InputError(f"x must hold floats or uint8 pixels, not {x.dtype}; convert it with .float()")
    if x.is_floating_point() and not (finite := x.isfinite().flatten(1).all(1)).all():
        raise InputError(f"x holds NaN or infinity in row {int(finite.int().argmin())}; drop the row or fill it in")


def _check_length(name: str, values: Sequence[str] | Tensor | None, rows: int) -> None:
    if values is not None and len(values) != rows:
        raise InputError(f"x has {rows} rows but {name} has {len(values)}; give one for each row")


def _check_classes(classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise InputError(f"at least two classes are needed, but classes is {classes}")
    _check_unique("class", classes)


def _check_labels(name: str, y: Tensor, classes: int, least: int = 0) -> None:
    if y.dtype != torch.int64 or y.ndim != 1:
        raise InputError(f"{name} must be a vector of int64, not {y.dtype} of shape {tuple(y.shape)}; convert it")
    if (outside := (y < least) | (y >= classes)).any():
        row = int(outside.int().argmax())
        raise InputError(f"{name} holds {int(y[row])} in row {row}; the {classes} classes are 0 to {classes - 1}")


def _check_unique(kind: str, names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        (name, count), *_ = Counter(names).most_common(1)
        raise InputError(f"{kind} {name!r} occurs {count} times; each must be there once")
