"""A cleaned table: of a delimited file every cell, quote and line end stays but those of labels that change.

Where the table comes into another folder, relative paths of images are written so that they lead to the same files.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.dataset import Dataset
from labelnoise.data.delimited import UNNAMED
from labelnoise.data.factor import Origin, factor
from labelnoise.data.table import LABEL, LABEL_WEIGHT, PATH, read_table
from labelnoise.data.unlabelled import without_minus_one
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.reviewing.outcome import Outcome
from labelnoise.reviewing.source import Source
from labelnoise.reviewing.verbatim import Verbatim, is_blank, value


def write_delimited(path: Path, source: Source, done: Outcome, out: Path, home: Path) -> None:
    """Write a .csv or .tsv file anew, as its rows become; `home` is the folder where it is to be read."""
    lines = _lines(Verbatim.read(path), path, source, done, home)

    def fill(file: BinaryIO) -> None:
        for line in lines:
            file.write(line.encode())

    write(out, fill)


def _lines(held: Verbatim, path: Path, source: Source, done: Outcome, home: Path) -> Iterator[str]:
    dataset, row, column, listing = source.dataset, -1, -1, -1
    moves = _moves(path, source, home)
    given = dataset.y_given.tolist()
    for cells, end in held.records():
        if is_blank(cells):
            yield held.delimiter.join(cells) + end
            continue
        extra = [] if done.weights is None else [""]
        if column < 0:
            names = [" ".join(value(cell).splitlines()).strip() for cell in cells]
            column = names.index(source.settings.label_column or LABEL)
            listing = names.index(source.settings.image_column or PATH) if moves else -1
            yield held.mark + held.delimiter.join([*cells, *(LABEL_WEIGHT for _ in extra)]) + end
            continue
        if _is_named(label := value(cells[column])):
            row += 1
            if row >= len(dataset) or dataset.classes[given[row]] != label.strip():
                raise InputError(f"{path} has other rows than were audited; audit it again")
            if not done.kept[row]:
                continue
            if done.labels[row] != given[row]:
                cells[column] = held.written(dataset.classes[done.labels[row]], like=cells[column])
            extra = [] if done.weights is None else [f"{done.weights[row]:.6g}"]
        if moves and (name := value(cells[listing])):
            cells[listing] = held.written(_moved(name, path.parent, home), like=cells[listing])
        yield held.delimiter.join([*cells, *extra]) + end
    if row + 1 != len(dataset):
        raise InputError(f"{path} has other rows than were audited; audit it again")


def write_parquet(path: Path, source: Source, done: Outcome, out: Path, home: Path) -> None:
    """Write a Parquet file anew, as its rows become; `home` is the folder where it is to be read."""
    frame, origin = read_table(path, source.settings)
    column = source.settings.label_column or LABEL
    rows = labelled(frame[column], source.dataset, origin, column)
    frame = frame.assign(**{column: relabelled(frame[column].array, rows, source.dataset, done)})
    if done.weights is not None:
        weights = np.full(len(frame), np.nan)
        weights[rows] = done.weights
        frame = frame.assign(**{LABEL_WEIGHT: weights})
    listing = source.settings.image_column or PATH
    if _moves(path, source, home) and listing in frame:
        moved = [_moved(cell, path.parent, home) if isinstance(cell, str) else cell for cell in frame[listing]]
        frame = frame.assign(**{listing: moved})
    frame = frame.drop(index=frame.index[rows[~done.kept]])
    write(out, frame.to_parquet)


def check_free(path: Path, source: Source) -> None:
    """Raise where a table has a column of weights already."""
    if LABEL_WEIGHT in map(str, read_table(path, source.settings)[0].columns):
        raise InputError(f"{path} has a column {LABEL_WEIGHT!r} already, of an earlier audit; delete it first")


def labelled(values: Any, dataset: Dataset, origin: Origin, column: str) -> NDArray[np.int64]:
    """The rows of a column or array of labels that are in the data set: those that have a label."""
    values, _ = without_minus_one(values, dataset.classes)
    rows = np.flatnonzero(factor(values, origin, column).codes >= 0)
    if len(rows) != len(dataset):
        raise InputError(f"{origin.name} has other rows than were audited; audit it again")
    return rows


def relabelled(values: Any, rows: NDArray[np.int64], dataset: Dataset, done: Outcome) -> Any:
    """Labels in their own type, the changed ones taken from a row that was given them."""
    given, before = dataset.y_given.numpy(), values
    new = np.unique(done.labels[done.labels != given])
    values = _holding(values, [dataset.classes[label] for label in new])
    for label in new:
        same = np.flatnonzero(given == label)
        written = before[rows[same[0]]] if len(same) else _written(dataset.classes[label], before.dtype)
        values[rows[(done.labels == label) & (given != label)]] = written
    return values


def _holding(values: Any, names: Sequence[str]) -> Any:
    # a copy that has room for these names
    if values.dtype.kind in "SU":
        return values.astype(np.result_type(values.dtype, np.array(names, values.dtype.kind).dtype))
    if hasattr(values, "add_categories"):
        return values.add_categories([name for name in names if name not in map(str, values.categories)])
    return values.copy()


def _written(name: str, dtype: Any) -> Any:
    # a class that no row was given, as labels of this type are
    if dtype.kind not in "iufb":
        return name
    try:
        return dtype.type(int(name))
    except (ValueError, OverflowError):
        raise InputError(f"labels of type {dtype} cannot hold class {name!r}; store them as text") from None


def _moves(path: Path, source: Source, home: Path) -> bool:
    listed = source.dataset.encoding.get("kind") == "images"
    return listed and os.path.realpath(home) != os.path.realpath(path.parent)


def _moved(name: str, start: Path, home: Path) -> str:
    # as it is written, from a new folder; shorter where no link is in between
    if Path(name).is_absolute():
        return name
    end = os.path.realpath(home)
    long = Path(os.path.relpath(os.path.realpath(start), end), name)
    short = Path(os.path.normpath(long))
    return (short if os.path.realpath(end / short) == os.path.realpath(start / name) else long).as_posix()


def _is_named(label: str) -> bool:
    return label not in UNNAMED and label.strip() != ""
