"""Tables, from a CSV or Parquet file or a DataFrame: in each row a label, and inputs or the path of an image."""

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from labelnoise.config import Data
from labelnoise.data import encode, images
from labelnoise.data.delimited import read_csv
from labelnoise.data.factor import Origin, is_formula
from labelnoise.data.rows import Inputs, Rows, identified, numbered
from labelnoise.errors import InputError
from labelnoise.registry import nearest

LABEL, PATH = "label", "path"  # what the columns of labels and of image files are called unless named
LABEL_WEIGHT = "label_weight"  # what an audit calls the column of its weights
NO_INPUT = f"column {LABEL_WEIGHT!r} is left out: it says how far to trust labels"
SUFFIXES = (".csv", ".tsv", ".parquet")


def read_table(path: Path, settings: Data, texts: Iterable[str] = ()) -> tuple[Any, Origin]:
    """The table in a file and where its rows lie; labels, ids and the columns named in `texts` are read as text."""
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path), Origin(str(path))
    names = {settings.label_column or LABEL, settings.true_label_column, settings.id_column} - {""}
    return read_csv(path, names, {settings.image_column or PATH, *settings.categorical, *texts})


def from_frame(
    name: str,
    frame: Any,
    origin: Origin,
    settings: Data,
    *,
    folder: Path = Path(),
    y: Any = None,
    y_true: Any = None,
    inputs: bool = True,
) -> Rows:
    """Rows of a table whose labels are in a column of it or given beside it; paths of images start at the folder.

    Where no inputs are needed, a digest of its cells stands for those of each row that is no image.
    """
    frame, unnamed = _named(frame, origin)
    _check_labels(origin, settings, y, y_true)
    label = "" if y is not None else settings.label_column or LABEL
    true = "" if y_true is not None else settings.true_label_column
    given = _column(frame, origin, label, "label_column") if label else y
    truth = _column(frame, origin, true, "true_label_column") if true else y_true
    for setting in ("drop", "categorical"):
        for column in getattr(settings, setting):
            _column(frame, origin, column, setting)
    no_inputs = {label, true, settings.id_column, LABEL_WEIGHT, *settings.drop}
    kept = frame[[column for column in frame.columns if column not in no_inputs]]
    ids = _ids(frame, origin, settings)
    if inputs or _image_column(frame, settings):
        x, notes, encoding = _inputs(frame, kept, origin, settings, folder)
        made = Inputs(x, ids, (*unnamed, *notes, *([NO_INPUT] if LABEL_WEIGHT in frame.columns else [])))
    else:
        made, encoding = Inputs(_digests(frame), ids), {}
    remedy = (
        f"name another column with {origin.written('label_column')}"
        if label
        else "give classes, not ids or measurements"
    )
    return Rows(name, origin, made, encoding, given, truth, (label or "y", true or "y_true"), remedy=remedy)


def inputs_of(frame: Any, origin: Origin, encoding: Mapping[str, Any], settings: Data, folder: Path = Path()) -> Inputs:
    """New rows as inputs of a model that has learnt from such a table, or from images like those that it lists."""
    frame, _ = _named(frame, origin)
    ids = _ids(frame, origin, settings)
    if encoding["kind"] == "table":
        x, filled = encode.transform(frame, encoding["columns"], origin)
        return Inputs(torch.from_numpy(x), ids, tuple(filled))
    if not (column := _image_column(frame, settings)):
        raise InputError(f"{origin.name} lists no images; call the column of their paths {PATH!r}")
    pixels, notes = images.conform(_listed(frame, origin, column, folder), encoding)
    return Inputs(pixels, ids, notes)


def _inputs(
    frame: Any, kept: Any, origin: Origin, settings: Data, folder: Path
) -> tuple[torch.Tensor, tuple[str, ...], dict[str, Any]]:
    # with notes and encoding
    if column := _image_column(frame, settings):
        x, notes, encoding = images.stack(_listed(frame, origin, column, folder), settings.image_size)
        others = ", ".join(repr(name) for name in kept.columns if name != column)
        return x, (*notes, *([f"the inputs are images; left out: {others}"] if others else [])), encoding
    if settings.image_size:
        raise InputError(
            f"{origin.written('image_size')} is for image files, and {origin.name} lists none; leave it out"
        )
    columns, left_out = encode.fit(kept, origin, settings.categorical)
    values, filled = encode.transform(kept, columns, origin)
    notes = (encode.listed(columns), *left_out, *filled)
    return torch.from_numpy(values), notes, {"kind": "table", "columns": columns}


def _digests(frame: Any) -> torch.Tensor:
    # (N, 8) bytes that change with every cell of a row
    hashed: Any = import_module("pandas").util.hash_pandas_object
    try:
        digests = hashed(frame, index=False)
    except TypeError:  # lists and the like have no hash
        digests = hashed(frame.astype(str), index=False)
    return torch.from_numpy(digests.to_numpy().astype("<u8").view("u1").reshape(-1, 8))


def _image_column(frame: Any, settings: Data) -> str:
    # "" where the table holds the inputs themselves
    if settings.image_column:
        return settings.image_column
    for name in frame.columns.difference(settings.drop, sort=False):
        first = frame[name].iloc[0]
        if name == PATH and str(first).lower().endswith(images.SUFFIXES):
            return PATH
        if hasattr(first, "getextrema") or (isinstance(first, dict) and "bytes" in first):  # of PIL, of a hub
            return str(name)
    return ""


def _listed(frame: Any, origin: Origin, column: str, folder: Path) -> list[images.Listed]:
    cells = _column(frame, origin, column, "image_column")
    if (missing := cells.isna().to_numpy()).any():
        raise InputError(f"{origin.at(int(missing.argmax()), column)}: the image is missing; leave the row out")
    listed = []
    for row, cell in enumerate(cells):
        path = cell.get("path") if isinstance(cell, dict) else cell
        place = partial(origin.at, row, column)
        if isinstance(cell, dict) and cell["bytes"] is not None:
            listed.append(images.Listed("", BytesIO(cell["bytes"]), place))
        elif hasattr(cell, "getextrema"):
            listed.append(images.Listed("", cell, place))
        elif (file := folder / str(path)).is_file():
            listed.append(images.Listed(str(file), file, place))
        else:
            raise InputError(f"{origin.at(row, column)}: there is no image {str(file)!r}; mend the path")
    return listed


def _read_parquet(path: Path) -> Any:
    pandas: Any = import_module("pandas")
    try:
        return pandas.read_parquet(path)
    except ImportError:
        raise InputError(f"{path}: Parquet files need pyarrow; pip install pyarrow") from None
    except (ValueError, OSError):
        raise InputError(f"{path} is damaged or no Parquet file; write it again") from None


def _named(frame: Any, origin: Origin) -> tuple[Any, tuple[str, ...]]:
    # columns called by texts, those without a name left out
    if not len(frame):
        raise InputError(f"{origin.name} has no rows")
    names = ["" if name is None else str(name) for name in frame.columns]
    twice = next((name for name in names if name and names.count(name) > 1), "")
    if twice:
        raise InputError(f"{origin.name} has {names.count(twice)} columns called {twice!r}; rename all but one")
    notes = tuple(f"column {place} is left out: it has no name" for place, name in enumerate(names, 1) if not name)
    return frame.set_axis(names, axis=1).loc[:, [name != "" for name in names]], notes


def _check_labels(origin: Origin, settings: Data, y: Any, y_true: Any) -> None:
    for setting, beside, name in (("label_column", y, "y"), ("true_label_column", y_true, "y_true")):
        if beside is not None and getattr(settings, setting):
            raise InputError(
                f"{setting} is for labels in a column, but they are given as {name}; leave one of them out"
            )
    if y is None and y_true is None and settings.true_label_column == (settings.label_column or LABEL):
        raise InputError(
            f"{origin.name}: column {settings.true_label_column!r} is named for given and for true labels; "
            f"name another with {origin.written('true_label_column')}, or leave it out"
        )


def _column(frame: Any, origin: Origin, name: str, setting: str) -> Any:
    if name not in frame.columns:
        names = ", ".join(frame.columns)
        hint = nearest(name, frame.columns)
        hint = f"known are {names}" if hint.startswith("known") else hint  # in their own order
        beside = ", or give labels as y" if setting == "label_column" and origin.name == "the table" else ""
        raise InputError(f"{origin.name} has no column {name!r} ({origin.written(setting)}); {hint}{beside}")
    return frame[name]


def _ids(frame: Any, origin: Origin, settings: Data) -> tuple[str, ...]:
    if not settings.id_column:
        column = _image_column(frame, settings)
        paths = [path for path in frame[column] if isinstance(path, str)] if column in frame.columns else []
        if len({*paths}) < len(frame):
            return numbered(len(frame))
        if (row := next((row for row, path in enumerate(paths) if is_formula(path)), -1)) >= 0:
            raise InputError(f"{origin.at(row, column)}: {paths[row]!r} is a spreadsheet formula; rename the file")
        return tuple(paths)
    return identified(_column(frame, origin, settings.id_column, "id_column"), origin, settings.id_column)
