"""Columns of a table as numbers for a network, and new rows in exactly the same way.

Numbers are standardised, names become one column per name, truth values 0 or 1. Labels play no part in it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.factor import Factor, Origin, factor, is_categorical
from labelnoise.data.images import SUFFIXES
from labelnoise.data.rows import counted
from labelnoise.errors import InputError
from labelnoise.registry import nearest

MOST_VALUES = 100  # a text with more is a name or a sentence, not a category
MOST_LISTED = 20  # columns named on the screen
FEWEST_COUNTED = 10  # fewer rows may be counted by accident
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
KINDS = {"number": "numbers", "category": "texts", "boolean": "true or false"}  # as people call them
TRUTH = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}

Column = dict[str, Any]  # name, kind and what the kind needs; plain, for it is saved with a model
Floats = NDArray[np.float64]
Cells = NDArray[np.float32]  # (N, width) of one column


def fit(frame: Any, origin: Origin, categorical: Collection[str] = ()) -> tuple[list[Column], list[str]]:
    """How each column becomes inputs, and a sentence for each that is left out."""
    columns: list[Column] = []
    notes: list[str] = []
    for name in frame.columns:
        fitted = _fitted(frame[name], origin, name in categorical)
        if isinstance(fitted, str):
            notes.append(f"column {name!r} is left out: {fitted}")
        else:
            columns.append({"name": name, **fitted})
            notes += _suspected(frame[name], origin, fitted)
    if not columns:
        raise InputError(f"{origin.name}: no column is left to learn from" + "".join(f"; {note}" for note in notes))
    return columns, notes


def listed(columns: Sequence[Column]) -> str:
    """A sentence on which columns are inputs, and as what they were read."""
    names: dict[str, list[str]] = {}
    for column in columns[:MOST_LISTED]:
        kind = "boolean" if _are_truths(column.get("values", "?")) else column["kind"]
        names.setdefault(kind, []).append(column["name"])
    told = [f"{', '.join(each)} ({KINDS[kind]})" for kind, each in names.items()]
    more = ["…"] * (len(columns) > MOST_LISTED)
    return f"inputs are made of {counted(len(columns), 'column')}: {'; '.join(told + more)}"


def transform(
    frame: Any, columns: Sequence[Mapping[str, Any]], origin: Origin
) -> tuple[NDArray[np.float32], list[str]]:
    """Inputs (N, D) from the rows of a table, and a sentence for each column with missing or unknown values."""
    widths = [len(column.get("values", [""])) for column in columns]
    x = np.zeros((len(frame), sum(widths)), np.float32)
    notes: list[str] = []
    for column, width, end in zip(columns, widths, np.cumsum(widths), strict=True):
        name = column["name"]
        if name not in frame.columns:
            raise InputError(
                f"{origin.name} has no column {name!r}, which the model has learnt from; {nearest(name, frame.columns)}"
            )
        cells = _CELLS[column["kind"]](frame[name], column, origin, notes)
        if (odd := ~np.isfinite(cells)).any():
            row = int(odd.argmax()) // width
            raise InputError(f"{origin.at(row, name)}: {frame[name].iloc[row]} is too large a number; mend the cell")
        x[:, end - width : end] = cells
    return x, notes


def _fitted(series: Any, origin: Origin, forced: bool) -> Column | str:
    # or the reason why the column tells nothing
    pandas: Any = import_module("pandas")
    types = pandas.api.types
    names = forced or is_categorical(series)
    if not names and types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        return _fitted_numbers(series, origin)
    if not names and types.is_bool_dtype(series.dtype) and not series.isna().any():
        share = float(series.mean())
        if share in (0, 1):
            return f"it is always {bool(share)}"
        return {"kind": "boolean", "fill": float(share >= 0.5)}
    found = factor(series, origin, series.name)
    if not names and _are_numbers(found, origin, series.name):
        return _fitted_numbers(series, origin)
    if not names and _name_images(found):
        return f"it names image files; learn from these with {origin.written('image_column')}={series.name!r}"
    return _fitted_names(found, series, origin, MOST_VALUES if not forced else len(found.names))


def _fitted_numbers(series: Any, origin: Origin) -> Column | str:
    values = _numbers(series, origin)
    known = values[~np.isnan(values)]
    if not known.size:
        return "it is empty"
    if known.min() == known.max():
        return f"it is always {known[0]:g}"
    with np.errstate(over="ignore", invalid="ignore"):
        fill = float(np.median(known))
        filled = np.where(np.isnan(values), fill, values)
        mean, std = float(filled.mean()), float(filled.std())
    if not np.isfinite(std):
        raise InputError(f"{origin.name}, column {series.name!r}: the numbers are too large; scale them down")
    if std == 0:
        return f"it is always about {fill:g}"
    return {"kind": "number", "fill": fill, "mean": mean, "std": std}


def _suspected(series: Any, origin: Origin, fitted: Column) -> list[str]:
    # Rows are often counted in a column that nobody means as an input.
    if fitted["kind"] != "number" or len(series) < FEWEST_COUNTED or (np.diff(_numbers(series, origin)) != 1).any():
        return []
    return [f"column {series.name!r} counts the rows: if it is an id, name it with {origin.written('id_column')}"]


def _name_images(found: Factor) -> bool:
    cells = [name for name in found.names if name]
    return bool(cells) and all(cell.lower().endswith(SUFFIXES) for cell in cells)


def _fitted_names(found: Factor, series: Any, origin: Origin, most: int) -> Column | str:
    values: list[str | None] = [name for name, count in zip(found.names, found.counts.tolist(), strict=True) if count]
    if not values:
        return "it is empty"
    if len(values) > most:
        embeddings = "--embeddings" if origin.typed else "embeddings"
        return (
            f"{len(values)} different texts; sentences can be audited by vectors of them ({embeddings}), "
            f"names are kept with {origin.written('categorical')}=[{series.name!r}]"
        )
    if not is_categorical(series):
        values.sort(key=str)
    if (found.codes < 0).any():
        values.append(None)
    if len(values) == 1:
        return f"it is always {values[0]!r}"
    return {"kind": "category", "values": values}


def _are_numbers(found: Factor, origin: Origin, name: str) -> bool:
    # all of the cells are, or an error where only most are
    if not found.names:
        return False
    unreadable = np.isnan(_parsed(found.names))
    commas = np.array([DECIMAL_COMMA.fullmatch(text) is not None for text in found.names])
    if 2 * found.counts[~unreadable | commas].sum() <= found.counts.sum():
        return False
    if found.counts[unreadable].any():
        row = found.first(unreadable)
        cell = found.names[found.codes[row]]
        why = "has a decimal comma" if DECIMAL_COMMA.fullmatch(cell) else "is no number, although most cells are"
        raise InputError(
            f"{origin.at(row, name)}: {cell!r} {why}; mend it, "
            f"or take the column as names with {origin.written('categorical')}=[{name!r}]"
        )
    return True


def _parsed(texts: Sequence[str]) -> Floats:
    pandas: Any = import_module("pandas")
    parsed = pandas.to_numeric(pandas.Series(texts, dtype=object), errors="coerce")
    return np.asarray(parsed.to_numpy(np.float64, na_value=np.nan))


def _numbers(series: Any, origin: Origin) -> Floats:
    # NaN where missing
    pandas: Any = import_module("pandas")
    if pandas.api.types.is_numeric_dtype(series.dtype):
        values = np.asarray(series.to_numpy(np.float64, na_value=np.nan))
    else:
        values = _looked_up(series, origin, _parsed, "no number")
    if np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise InputError(f"{origin.at(row, series.name)}: the number is infinite; mend it, or leave the cell empty")
    return values


def _looked_up(series: Any, origin: Origin, parse: Any, what: str) -> Floats:
    # each different text is parsed once
    found = factor(series, origin, series.name)
    parsed = np.asarray(parse(found.names), np.float64)
    if found.counts[np.isnan(parsed)].any():
        row = found.first(np.isnan(parsed))
        raise InputError(f"{origin.at(row, series.name)}: {found.names[found.codes[row]]!r} is {what}; mend the cell")
    return np.append(parsed, np.nan)[found.codes]


def _number_cells(series: Any, column: Mapping[str, Any], origin: Origin, notes: list[str]) -> Cells:
    values = _filled(_numbers(series, origin), column, "the median", notes)
    with np.errstate(over="ignore"):
        cells: Cells = ((values - column["mean"]) / column["std"]).astype(np.float32)
    return cells[:, None]


def _boolean_cells(series: Any, column: Mapping[str, Any], origin: Origin, notes: list[str]) -> Cells:
    def parse(names: Sequence[str]) -> list[float]:
        return [TRUTH.get(name.lower(), np.nan) for name in names]

    values = _looked_up(series, origin, parse, "neither true nor false")
    return _filled(values, column, "the more frequent", notes).astype(np.float32)[:, None]


def _filled(values: Floats, column: Mapping[str, Any], what: str, notes: list[str]) -> Floats:
    missing = np.isnan(values)
    if count := int(missing.sum()):
        cells = "1 missing value is" if count == 1 else f"{count} missing values are"
        notes.append(f"column {column['name']!r}: {cells} filled with {what} {column['fill']:g}")
    return np.where(missing, column["fill"], values)


def _category_cells(series: Any, column: Mapping[str, Any], origin: Origin, notes: list[str]) -> Cells:
    found = factor(series, origin, series.name)
    values = column["values"]
    place = {name: number for number, name in enumerate(values)}
    spelt = str.capitalize if _are_truths(values) else str  # true, True and TRUE, whoever has read the file
    places = np.array([place.get(spelt(name), -1) for name in found.names] + [place.get(None, -1)])
    chosen = places[found.codes]
    if count := int((chosen < 0).sum()):
        code = found.codes[int((chosen < 0).argmax())]
        example = "missing" if code < 0 else repr(found.names[code])
        rows = "1 row holds a value" if count == 1 else f"{count} rows hold values"
        notes.append(f"column {column['name']!r}: {rows} unknown in training, such as {example}, taken as none of them")
    cells: Cells = (chosen[:, None] == np.arange(len(values))).astype(np.float32)
    return cells


def _are_truths(values: Collection[str | None]) -> bool:
    return {*values} <= {"True", "False", None}


_CELLS = {"number": _number_cells, "boolean": _boolean_cells, "category": _category_cells}
