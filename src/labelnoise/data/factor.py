"""Cells as names: labels, ids and texts are told apart by what they say, whatever type they were stored in."""

import re
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError

FORMULA = re.compile(r"\s*=")  # what an export leaves where it should write a value
RUN = re.compile(r"\s*(=|[+\-@].*[(|!])")  # what a spreadsheet would run
OPTIONS = ("label_column", "true_label_column", "id_column", "labels", "image_size")  # of commands; others are keys


class Origin(NamedTuple):
    """Where rows come from, for sentences about one of them."""

    name: str  # of the file, or what the thing is
    row: Any = "row {}".format  # number, from 0, to what people call it
    typed: bool = True  # whether a command can name it

    def at(self, row: int, column: str = "") -> str:
        """The beginning of a sentence about a row, or about its cell in a column."""
        return f"{self.name}, {self.row(row)}" + (f", column {column!r}" if column else "")

    def written(self, setting: str) -> str:
        """A setting of how data are read, as people write it: behind a command, or for what only Python can name."""
        if not self.typed:
            return setting
        return f"--{setting.replace('_', '-')}" if setting in OPTIONS else f"data.{setting}"


class Factor(NamedTuple):
    """A column of cells as numbers of names."""

    codes: NDArray[np.int64]  # (N,) into names; -1 where the cell is empty
    names: tuple[str, ...]  # different ones

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many cells hold each name."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def first(self, chosen: NDArray[np.bool_]) -> int:
        """The first row that holds one of the chosen names, given as a truth value for each."""
        return int(np.append(chosen, False)[self.codes].argmax())


def is_categorical(values: Any) -> bool:
    """Whether a column carries its values in an order of its own."""
    pandas: Any = import_module("pandas")  # late, for the import takes half a second
    return isinstance(getattr(values, "dtype", None), pandas.CategoricalDtype)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text where it should show it."""
    return RUN.match(text) is not None


def factor(values: Any, origin: Origin, column: str, *, repeated: bool = False) -> Factor:
    """Number the names in a column by their first cell, those of a Categorical in its order.

    Formulas are refused, and in names that predictions repeat, labels and ids, whatever a spreadsheet would run.
    """
    pandas: Any = import_module("pandas")
    series = pandas.Series(values)
    if is_categorical(series):
        codes, cells = series.cat.codes.to_numpy(np.int64), series.cat.categories
    else:
        try:
            codes, cells = pandas.factorize(series)
        except TypeError:  # lists and the like have no hash
            codes, cells = pandas.factorize(series.astype(str))
    merged, names = pandas.factorize(np.array([_text(cell) for cell in cells], object))
    merged = np.append(np.where(names == "", -1, np.arange(len(names)))[merged], -1)
    found = Factor(merged[codes], tuple(names))
    _check_formulas(found, origin, column, repeated)
    return found


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    if isinstance(cell, float | np.floating) and cell == np.floor(cell) and np.isfinite(cell):
        return str(int(cell))  # integers become floats where a cell of their column is empty
    return str(cell).strip()


def _check_formulas(found: Factor, origin: Origin, column: str, repeated: bool) -> None:
    refused = RUN if repeated else FORMULA
    formulas = np.array([refused.match(name) is not None for name in found.names], bool)
    if formulas.any() and found.counts[formulas].any():
        row = found.first(formulas)
        cell = found.names[found.codes[row]]
        remedy = "rename it" if repeated else f"leave the column out with {origin.written('drop')}=[{column!r}]"
        raise InputError(
            f"{origin.at(row, column)}: {cell!r} is a spreadsheet formula; export values, not formulas, or {remedy}"
        )
