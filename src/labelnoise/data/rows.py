"""Rows as a reader found them, with labels still by name, and the data set that they make."""

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.dataset import Dataset
from labelnoise.data.factor import Factor, Origin, factor, is_categorical, is_formula
from labelnoise.errors import InputError

FEWEST_DOUBTED = 20  # classes that may be ids or measurements, if they have hardly a row each


class Inputs(NamedTuple):
    """Rows without labels, made into inputs as a model knows them."""

    x: Tensor  # (N, ...)
    ids: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Rows(NamedTuple):
    """What a source holds."""

    name: str
    origin: Origin
    inputs: Inputs
    encoding: Mapping[str, Any]
    given: Any  # (N,) labels by name, a Categorical where their order is known
    true: Any = None  # (N,) likewise
    columns: tuple[str, str] = ("y", "y_true")  # what given and true labels are called; "" for names of folders
    test: Tensor | None = None
    remedy: str = "give classes, not ids or measurements"  # where labels are too many to be classes


def numbered(rows: int) -> tuple[str, ...]:
    """Ids of rows that have none."""
    return tuple(map(str, range(rows)))


def identified(values: Any, origin: Origin, column: str) -> tuple[str, ...]:
    """Ids from a column, each of which must be there once."""
    codes, names = found = factor(values, origin, column, repeated=True)
    if (codes < 0).any():
        raise InputError(f"{origin.at(int((codes < 0).argmax()), column)}: the id is missing; each row needs one")
    if len(names) < len(codes):
        first, second = np.flatnonzero(codes == found.counts.argmax())[:2].tolist()
        raise InputError(
            f"{origin.at(second, column)}: id {names[codes[first]]!r} is in {origin.row(first)} already; "
            "each must be there once"
        )
    return tuple(names[code] for code in codes.tolist())


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def to_dataset(rows: Rows) -> Dataset:
    """Labels become classes, in numeric order if all are numbers and else alphabetical; rows without one are left out.

    A Categorical keeps its order. Classes are those of given and true labels together.
    """
    given = _labels(rows, rows.given, rows.columns[0])
    true = None if rows.true is None else _labels(rows, rows.true, rows.columns[1])
    kept = np.flatnonzero(given.codes >= 0)
    _check_given(rows, given, len(kept))
    if true is not None and (missing := kept[true.codes[kept] < 0]).size:
        raise InputError(f"{rows.origin.at(missing[0], rows.columns[1])}: the true label is missing; fill it in")
    classes = _classes(given, true, is_categorical(rows.given))
    _check_names(rows, classes)
    x, ids, notes = rows.inputs
    test = rows.test
    if (left := len(x) - len(kept)) > 0:
        x, ids = x[torch.from_numpy(kept)], tuple(ids[row] for row in kept.tolist())
        notes = (*notes, f"{counted(left, 'row')} without a label {'is' if left == 1 else 'are'} left out")
        test = None if test is None else torch.from_numpy(np.flatnonzero(np.isin(kept, test.numpy())))
    notes = (*notes, *_alike(classes))
    y_given = _numbers(given, classes, kept)
    y_true = None if true is None else _numbers(true, classes, kept)
    try:
        return Dataset(rows.name, x, y_given, y_true, classes, ids, test, notes, rows.encoding)
    except InputError as problem:
        raise InputError(f"{rows.origin.name}: {problem}") from None


def _labels(rows: Rows, values: Any, column: str) -> Factor:
    if len(values) != (count := len(rows.inputs.x)):
        raise InputError(f"{rows.origin.name} has {count} rows but {column} has {len(values)}; give one for each row")
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "f" and (odd := np.flatnonzero(np.isfinite(values) & (np.floor(values) != values))).size:
        cell = float(np.asarray(values)[odd[0]])
        raise InputError(f"{rows.origin.at(odd[0], column)}: {cell:g} is no class; labels are whole numbers or names")
    return factor(values, rows.origin, column, repeated=True)


def _check_given(rows: Rows, given: Factor, labelled: int) -> None:
    place, occurring = f" in {rows.columns[0]!r}" if rows.columns[0] else "", int((given.counts > 0).sum())
    if occurring == 0:
        raise InputError(f"{rows.origin.name}: no row has a label{place}")
    if occurring == 1:
        only = given.names[given.counts.argmax()]
        raise InputError(f"{rows.origin.name}: all labels{place} are {only!r}; at least two classes must occur")
    if occurring >= FEWEST_DOUBTED and 2 * occurring > labelled:
        raise InputError(
            f"{rows.origin.name}: {occurring} different labels{place}, for {labelled} rows, are too many for classes; "
            f"{rows.remedy}"
        )
    if occurring >= FEWEST_DOUBTED and 2 * (single := int((given.counts == 1).sum())) > occurring:
        raise InputError(
            f"{rows.origin.name}: {single} of {occurring} different labels{place} have a single row, too many for "
            f"classes; {rows.remedy}, or leave rare labels out"
        )


def _check_names(rows: Rows, classes: tuple[str, ...]) -> None:
    # also those that occur in no row, since they may be predicted
    if formula := next(filter(is_formula, classes), ""):
        raise InputError(f"{rows.origin.name}: class {formula!r} is a spreadsheet formula; rename it")


def _classes(given: Factor, true: Factor | None, in_order: bool) -> tuple[str, ...]:
    names = dict.fromkeys(given.names + (() if true is None else true.names))
    names.pop("", None)
    return tuple(names) if in_order else ordered(names)


def ordered(names: Collection[str]) -> tuple[str, ...]:
    """Classes in numeric order if all are numbers, and else alphabetical."""
    values = {name: _value(name) for name in names}
    if any(map(math.isnan, values.values())):
        return tuple(sorted(names))
    return tuple(sorted(names, key=lambda name: (values[name], name)))


def _alike(classes: tuple[str, ...]) -> list[str]:
    folded: dict[str, list[str]] = {}
    for name in classes:
        folded.setdefault(name.casefold(), []).append(repr(name))
    return [f"classes {' and '.join(names)} differ in case only" for names in folded.values() if len(names) > 1]


def _value(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return math.nan


def _numbers(found: Factor, classes: tuple[str, ...], kept: NDArray[np.int64]) -> Tensor:
    place = {name: number for number, name in enumerate(classes)}
    return torch.from_numpy(np.array([place.get(name, -1) for name in found.names])[found.codes[kept]])
