"""The given labels of what is to be audited, as numbers of classes, and the inputs where they are needed."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.config import Data
from labelnoise.data.arrays import labels as vector
from labelnoise.data.dataset import Dataset, load
from labelnoise.data.factor import Factor, Origin, factor, is_categorical
from labelnoise.data.own import is_own, read_whole
from labelnoise.data.rows import numbered, ordered
from labelnoise.data.unlabelled import without_minus_one
from labelnoise.errors import InputError

BESIDE = Origin("y")


class Given(NamedTuple):
    """Whose labels are judged."""

    labels: NDArray[np.int64]  # (n,) -1 where a row has none
    classes: tuple[str, ...]
    ids: tuple[Hashable, ...]
    dataset: Dataset | None = None  # with the inputs, and some class where a label is missing
    notes: tuple[str, ...] = ()


def given_beside(y: Any, classes: Sequence[Any] | None = None, columns: int | None = None) -> Given:
    """From labels alone, by name or number; `columns` is how many classes probabilities have been computed for."""
    values, notes = without_minus_one(vector(y, BESIDE), classes)
    found = factor(values, BESIDE, "y", repeated=True)
    if not found.counts.any():
        raise InputError("no row has a label; give y with some")
    if classes is not None:
        names = _checked(classes, _occurring(found), columns)
    elif is_categorical(values):
        names = _matched(tuple(filter(None, found.names)), columns)
    else:
        names = _matched(ordered(_occurring(found)), columns)
    return Given(_codes(found, names), names, tuple(range(len(found.codes))), notes=notes)


def given_of(
    source: Any, y: Any, settings: Data, classes: Sequence[Any] | None = None, *, inputs: bool = True
) -> Given:
    """From data: a name, a path, a DataFrame, or an array with y; those of a table need no columns to learn from."""
    if isinstance(source, list | tuple):
        source = _stacked(source)
    if isinstance(source, str) and y is None and not is_own(source):
        dataset = load(source, 0)
        given = dataset.y_given
    else:
        dataset, given = read_whole(source, settings, y=y, classes=classes, inputs=inputs)
    if classes is not None:
        occurring = [dataset.classes[label] for label in sorted(set(given[given >= 0].tolist()))]
        names = _checked(classes, occurring, None)
        place = torch.tensor([names.index(name) if name in names else 0 for name in dataset.classes])
        given = torch.where(given < 0, given, place[given])
        dataset = replace(dataset, y_given=given.clamp_min(0), y_true=None, classes=names)
    ids = tuple(range(len(given))) if _is_array(source) else dataset.ids
    return Given(given.numpy(), dataset.classes, ids, dataset, dataset.notes)


def own_index(source: Any) -> tuple[Sequence[Hashable] | None, tuple[str, ...]]:
    """The index of a table or column, which are the ids of its rows, or a sentence where it names some alike."""
    if not hasattr(source, "iloc"):
        return None, ()
    if source.index.is_unique:
        return source.index, ()
    return range(len(source)), ("the index of the table holds the same twice, so rows are called by their numbers",)


def identified(given: Given, ids: Sequence[Hashable] | None) -> Given:
    """The same with ids of one's own, of which each must be there once."""
    if ids is None:
        return given
    names = tuple(ids.tolist() if hasattr(ids, "tolist") else ids)
    if len(names) != len(given.labels):
        raise InputError(f"there are {len(given.labels)} rows but {len(names)} ids; give one for each row")
    first: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if first.setdefault(name, row) != row:
            raise InputError(f"id {name!r} is in row {first[name]} and again in row {row}; each must be there once")
    return given._replace(ids=names)


def _stacked(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.asarray(rows)
    except ValueError:
        raise InputError(
            "the rows of X are not equally long; give an array, or lists of as many numbers each"
        ) from None


def _is_array(source: Any) -> bool:
    return hasattr(source, "__array__") and not hasattr(source, "iloc")


def _occurring(found: Factor) -> list[str]:
    return [name for name, count in zip(found.names, found.counts, strict=True) if name and count]


def _codes(found: Factor, classes: tuple[str, ...]) -> NDArray[np.int64]:
    place = {name: number for number, name in enumerate(classes)}
    return np.array([*(place.get(name, -1) for name in found.names), -1], np.int64)[found.codes]


def _checked(classes: Sequence[Any], occurring: Sequence[str], columns: int | None) -> tuple[str, ...]:
    names = tuple(map(str, classes))
    if len(set(names)) < max(2, len(names)) or "" in names:
        raise InputError(f"two or more different classes must be named, not {list(names)}")
    if columns is not None and columns != len(names):
        raise InputError(f"probs has {columns} columns but classes names {len(names)}; name each column")
    if unknown := [name for name in occurring if name not in names]:
        raise InputError(f"label {unknown[0]!r} is none of the classes {', '.join(names)}; name it as well, or mend it")
    return names


def _matched(names: tuple[str, ...], columns: int | None) -> tuple[str, ...]:
    # the classes of all columns; some may occur in no label
    if columns in (None, len(names)):
        if len(names) < 2:
            raise InputError(f"all labels are {names[0]!r}; at least two classes must occur, or be named in classes")
        return names
    if columns is not None and all(name.isdecimal() and int(name) < columns for name in names):
        return numbered(columns)
    raise InputError(
        f"probs has {columns} columns but y holds {len(names)} classes; name the class of each column with classes"
    )
