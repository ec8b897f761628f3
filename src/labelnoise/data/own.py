"""One's own data: one call reads them from any source, another makes new rows into inputs of a saved model."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from labelnoise.config import Data
from labelnoise.data import arrays, hub, images, saved, table
from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.factor import Origin
from labelnoise.data.rows import Inputs, Rows, to_dataset
from labelnoise.data.standard import cache
from labelnoise.data.unlabelled import without_minus_one
from labelnoise.errors import InputError

__all__ = ["Inputs", "is_own", "read", "read_inputs", "read_labelled", "read_whole"]

DEFAULTS = Data()
SUFFIXES = (*table.SUFFIXES, *arrays.SUFFIXES)
PICTURES = ("folder", *images.SUFFIXES)
PURPOSES = {
    "tables": ("label_column", "true_label_column", "id_column", "image_column", "drop", "categorical"),
    ".npy files": ("labels", "true_labels"),
    "image files": ("image_size",),
}


def is_own(source: str) -> bool:
    """Whether a text is the path of someone's own data and not the name of a built-in set, right or misspelt."""
    if source in DATASETS:
        return False
    return Path(source).suffix != "" or "/" in source or "\\" in source or os.path.exists(source)


def read(source: Any, settings: Data = DEFAULTS, *, y: Any = None, y_true: Any = None) -> Dataset:
    """One's own data: a path, a pandas DataFrame, a numpy array or tensor with y, or a Hugging Face data set.

    A DataFrame may have its labels in a column or in y. `notes` of the result says what was done to the data.
    """
    if isinstance(source, str | Path) and (name := cache.name_in(Path(source))):
        raise InputError(f"{source} is a file of the data root; write {name}, or another name that `data list` shows")
    if _is_saved(source):
        _check_no_labels(str(source), y, y_true)
        _check_settings(_origin(source), settings)
        return saved.load(Path(source))[0]
    return to_dataset(_rows(source, settings, y, y_true))


def read_labelled(path: str, settings: Data, classes: Sequence[Any] | None = None) -> Dataset:
    """One's own data in a file or folder, as they are reviewed: see `read_whole`, but of rows with a label alone."""
    return read(path, settings) if _is_saved(path) else to_dataset(_audited(path, settings, None, classes, False))


def read_whole(
    source: Any,
    settings: Data = DEFAULTS,
    *,
    y: Any = None,
    classes: Sequence[Any] | None = None,
    inputs: bool = True,
) -> tuple[Dataset, Tensor]:
    """One's own data with the rows that have no label, and the given labels in which theirs is -1.

    In the data set itself the first class stands for a label that is missing. The whole number -1 is such a label
    unless it is named among classes. Without inputs a table may hold anything besides its labels.
    """
    if _is_saved(source):
        dataset = read(source, settings, y=y)
        return dataset, dataset.y_given
    rows = _audited(source, settings, y, classes, inputs)
    dataset, (x, ids, notes) = to_dataset(rows), rows.inputs
    if len(dataset) == len(x):
        return dataset, dataset.y_given
    known = dict(zip(dataset.ids, dataset.y_given.tolist(), strict=True))
    given = torch.tensor([known.get(each, -1) for each in ids])
    whole = Dataset(rows.name, x, given.clamp_min(0), None, dataset.classes, ids, None, notes, rows.encoding)
    return whole, given


def read_inputs(source: Any, encoding: Mapping[str, Any], settings: Data = DEFAULTS) -> Inputs:
    """New rows made into inputs exactly as those of the data set with this encoding; labels in them are ignored."""
    if isinstance(source, str | Path):
        return _inputs_of_path(_existing(source), encoding, settings)
    origin = _origin(source)
    if encoding["kind"] != "array" and (_is_frame(source) or hub.is_hub(source)):
        frame = source if _is_frame(source) else hub.to_frame(source)
        return table.inputs_of(frame, origin, encoding, settings)
    if encoding["kind"] != "table" and _is_array(source):
        return arrays.transform(source, encoding, origin)
    raise _foreign(origin.name, encoding)


def _inputs_of_path(path: Path, encoding: Mapping[str, Any], settings: Data) -> Inputs:
    kind, suffix = encoding["kind"], "folder" if path.is_dir() else path.suffix.lower()
    if saved.is_saved(path) and (held := saved.load(path)[0]).encoding == encoding and isinstance(held.x, Tensor):
        return Inputs(held.x, held.ids)  # made into inputs before they were saved
    if kind == "images" and suffix in PICTURES:
        return images.inputs_of(path, encoding)
    if kind != "table" and suffix in arrays.SUFFIXES:
        return arrays.inputs_of(path, encoding)
    if kind != "array" and suffix in table.SUFFIXES:
        texts = [column["name"] for column in encoding.get("columns", ()) if column["kind"] == "category"]
        frame, origin = table.read_table(path, settings, texts)
        return table.inputs_of(frame, origin, encoding, settings, path.parent)
    if suffix not in PICTURES:
        _check_suffix(path)
    raise _foreign(str(path), encoding)


def _foreign(name: str, encoding: Mapping[str, Any]) -> InputError:
    known = {"table": "tables", "images": "images", "array": "arrays of numbers"}[encoding["kind"]]
    return InputError(f"{name} cannot be given to a model that has learnt from {known}; give it such data")


def _audited(source: Any, settings: Data, y: Any, classes: Sequence[Any] | None, inputs: bool) -> Rows:
    rows = _rows(source, settings, y, None, inputs)
    given, notes = without_minus_one(rows.given, classes)
    return rows._replace(given=given, inputs=rows.inputs._replace(notes=(*rows.inputs.notes, *notes)))


def _rows(source: Any, settings: Data, y: Any, y_true: Any, inputs: bool = True) -> Rows:
    origin = _origin(source)
    if _is_frame(source):
        _check_settings(origin, settings, "tables", "image files")
        given, true = arrays.labels(y, origin), arrays.labels(y_true, origin, "y_true")
        return table.from_frame("data", source, origin, settings, y=given, y_true=true, inputs=inputs)
    if _is_array(source):
        _check_settings(origin, settings)
        return arrays.from_array("data", source, y, origin, y_true=y_true)
    if hasattr(source, "toarray"):
        raise InputError(f"{origin.name} is sparse; make it an array with .toarray()")
    _check_no_labels(origin.name, y, y_true)
    if isinstance(source, str | Path):
        return _from_path(_existing(source), settings, inputs)
    if hub.is_hub(source):
        _check_settings(origin, settings, "tables", "image files")
        return table.from_frame(hub.name_of(source), hub.to_frame(source), origin, settings, inputs=inputs)
    raise InputError(
        f"{origin.name} cannot be read; give a path, a DataFrame, an array with y, or a part of a Hugging Face data set"
    )


def _from_path(path: Path, settings: Data, inputs: bool) -> Rows:
    named = Origin(str(path))
    if path.is_dir():
        _check_settings(named, settings, "image files")
        return images.from_folder(path, settings)
    _check_suffix(path)
    if (suffix := path.suffix.lower()) in arrays.SUFFIXES:
        _check_settings(named, settings, *((".npy files",) if suffix == ".npy" else ()))
        return arrays.from_file(path, settings)
    _check_settings(named, settings, "tables", "image files")
    frame, origin = table.read_table(path, settings)
    return table.from_frame(path.stem, frame, origin, settings, folder=path.parent, inputs=inputs)


def _is_saved(source: Any) -> bool:
    return isinstance(source, str | Path) and saved.is_saved(Path(source))


def _check_no_labels(name: str, y: Any, y_true: Any) -> None:
    if y is not None or y_true is not None:
        raise InputError(f"{name} carries its own labels; y and y_true go with arrays and DataFrames")


def _check_settings(origin: Origin, settings: Data, *fitting: str) -> None:
    for purpose, names in PURPOSES.items():
        unfit = next((each for each in names if getattr(settings, each)), "")
        if unfit and purpose not in fitting:
            raise InputError(f"{origin.written(unfit)} is for {purpose}, which {origin.name} is not; leave it out")


def _existing(source: str | Path) -> Path:
    path = Path(source)
    if not os.path.exists(path):  # False also for a text that can be no path
        raise InputError(f"there is no file or folder {str(path)!r}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read; change its permissions")
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path} is empty")
    return path


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} cannot be read; give a folder of images, or a file in {', '.join(SUFFIXES)}")


def _origin(source: Any) -> Origin:
    # what sentences call it
    if isinstance(source, str | Path):
        return Origin(str(source))
    name = "x" if _is_array(source) else f"the {type(source).__name__}"
    return Origin("the table" if _is_frame(source) else name, typed=False)


def _is_frame(source: Any) -> bool:
    return hasattr(source, "iloc") and hasattr(source, "columns")


def _is_array(source: Any) -> bool:
    return isinstance(source, Tensor) or (
        hasattr(source, "__array__") and hasattr(source, "shape") and not _is_frame(source)
    )
