"""Arrays: .npz and .npy files, numpy arrays and tensors, of numbers by row or of images."""

import csv
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.config import Data
from labelnoise.data.delimited import TOLD
from labelnoise.data.factor import Origin
from labelnoise.data.rows import Inputs, Rows, identified, numbered
from labelnoise.errors import InputError

CHANNELS = (1, 3, 4)
HEADERS = {"label", "labels", "y", "target", "class", "given_label"}  # of labels in a text file
SUFFIXES = (".npz", ".npy")
WHOLE = ("x", "y", "y_true", "ids")
PARTED = ("x_train", "y_train", "x_test", "y_test")
ENTRIES = {"ids": "id for each row", "classes": "name for each class"}  # of vectors other than labels


def from_array(name: str, x: Any, y: Any, origin: Origin, *, y_true: Any = None, ids: tuple[str, ...] = ()) -> Rows:
    """Rows of an array, (N, D) numbers or (N, H, W), (N, H, W, C) or (N, C, H, W) images, and the labels beside it."""
    if y is None:
        raise InputError(f"{origin.name} has no labels; give one for each row as y")
    arranged, notes = _arranged(array(x), origin)
    encoding = _encoding(arranged, origin)
    inputs = Inputs(_scaled(arranged, encoding, origin), ids or numbered(len(arranged)), notes)
    return Rows(name, origin, inputs, encoding, labels(y, origin), labels(y_true, origin, "y_true"))


def from_file(path: Path, settings: Data) -> Rows:
    """Rows of an .npz file with x and y, or x_train, y_train, x_test and y_test, or of an .npy file and its labels."""
    origin = Origin(str(path))
    held = _load(path)
    if not isinstance(held, dict):
        if not settings.labels:
            raise InputError(f"{path} holds inputs only; name the file of their labels with --labels")
        _check_kind(held, origin)
        y_true = label_file(Path(settings.true_labels), len(held)) if settings.true_labels else None
        rows = from_array(path.stem, held, label_file(Path(settings.labels), len(held)), origin, y_true=y_true)
        return rows._replace(columns=(settings.labels, settings.true_labels))
    held = {key: _checked(held[key], origin, key) for key in held}
    if all(key in held for key in PARTED):
        return _noted(_parted(path, held, origin), held, PARTED)
    if loose := [key for key in PARTED if key in held and key.endswith("_test")]:
        raise InputError(f"{path} has {loose[0]!r} but not all of {', '.join(PARTED)}; rename its arrays")
    for key in ("x", "y"):
        if key not in held:
            known = ", ".join(held) or "nothing"
            raise InputError(
                f"{path} has no array {key!r}; it holds {known}, and needs x and y, or {', '.join(PARTED)}"
            )
    y, y_true = (_by_name(held.get(key), held.get("classes"), origin, key) for key in ("y", "y_true"))
    return _noted(from_array(path.stem, held["x"], y, origin, y_true=y_true, ids=_ids(held, origin)), held, WHOLE)


def inputs_of(path: Path, encoding: Mapping[str, Any]) -> Inputs:
    """The array x of an .npz file, or x_train and x_test, or an .npy file, as inputs of a model."""
    origin = Origin(str(path))
    held = _load(path)
    if not isinstance(held, dict):
        return transform(held, encoding, origin)
    if "x_train" in held and "x_test" in held:
        parts = {part: transform(held[f"x_{part}"], encoding, origin).x for part in ("train", "test")}
        ids = tuple(f"{part}/{row}" for part, x in parts.items() for row in range(len(x)))
        return Inputs(torch.cat(list(parts.values())), ids)
    if "x" not in held:
        raise InputError(f"{path} has no array 'x'; it holds {', '.join(held) or 'nothing'}")
    inputs = transform(held["x"], encoding, origin)
    return Inputs(inputs.x, _ids(held, origin) or inputs.ids, inputs.notes)


def transform(x: Any, encoding: Mapping[str, Any], origin: Origin) -> Inputs:
    """New rows as inputs of a model that has learnt from arrays of this encoding, or from images."""
    values, shape = array(x), tuple(encoding["shape"])
    _check_numbers(values, origin)
    if len(shape) == 3 and values.shape[1:] == (*shape[1:], shape[0]) != shape:
        values = np.moveaxis(values, -1, 1)
    if len(shape) == 3 and values.shape[1:] == shape[1:] and shape[0] == 1:
        values = values[:, None]
    if values.shape[1:] != shape:
        raise InputError(f"{origin.name} has shape {np.shape(x)}, but the model needs rows of shape {shape}")
    learnt = encoding.get("dtype", "uint8")
    if (values.dtype == np.uint8) != (learnt == "uint8") and len(shape) == 3:
        raise InputError(f"{origin.name} holds {values.dtype}, but the model has learnt from {learnt}; convert it")
    return Inputs(_scaled(values, encoding, origin), numbered(len(values)))


def unscaled(shape: tuple[int, ...]) -> dict[str, Any]:
    """The encoding of floats that are inputs as they are."""
    return {
        "kind": "array",
        "shape": list(shape),
        "dtype": "float32",
        "mean": [0.0] * shape[0],
        "std": [1.0] * shape[0],
    }


def array(x: Any) -> NDArray[Any]:
    """An array or tensor, wherever it lies, as numpy's."""
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x)


def labels(y: Any, origin: Origin, name: str = "y", entry: str = "label for each row") -> Any:
    """Labels as a vector, whatever holds them; a Series or Categorical stays, and so does None."""
    if y is None or hasattr(y, "categories") or hasattr(y, "iloc"):
        return y
    vector = array(y)
    vector = vector[:, 0] if vector.ndim == 2 and vector.shape[1] == 1 else vector
    if vector.ndim != 1:
        raise InputError(f"{origin.name}: {name} has shape {vector.shape}; give one {entry}")
    return vector


def _arranged(x: NDArray[Any], origin: Origin) -> tuple[NDArray[Any], tuple[str, ...]]:
    # (N, D) or (N, C, H, W)
    _check_numbers(x, origin)
    if x.ndim == 2:
        return x, ()
    if x.ndim == 3:
        return x[:, None], (f"shape {x.shape} is taken as {len(x)} grey images",)
    first, last = x.ndim == 4 and x.shape[1] in CHANNELS, x.ndim == 4 and x.shape[3] in CHANNELS
    if first == last:
        why = "either the second or the last axis may be channels" if first else "no axis is one of 1, 3 or 4 channels"
        why = why if x.ndim == 4 else "its axes are not two, three or four"
        raise InputError(
            f"{origin.name} has shape {x.shape}, and {why}; "
            "give (N, D) numbers, or (N, H, W), (N, H, W, C) or (N, C, H, W) images"
        )
    return (x if first else np.moveaxis(x, -1, 1)), ()


def _check_kind(x: NDArray[Any], origin: Origin) -> None:
    if x.dtype.kind not in "biuf":
        raise InputError(f"{origin.name} must hold numbers, not {x.dtype}; encode it first")
    if not x.size or not x.ndim:
        raise InputError(f"{origin.name} holds no rows: its shape is {x.shape}")


def _check_numbers(x: NDArray[Any], origin: Origin) -> None:
    _check_kind(x, origin)
    if x.dtype.kind == "f" and not (finite := np.isfinite(x).reshape(len(x), -1).all(1)).all():
        row = int(finite.argmin())
        raise InputError(f"{origin.at(row)}: NaN or infinity; drop the row or fill it in")


def _encoding(x: NDArray[Any], origin: Origin) -> dict[str, Any]:
    encoding = unscaled(x.shape[1:]) | {"dtype": str(x.dtype)}
    if x.ndim == 4 and x.dtype == np.uint8:
        return encoding
    for place in range(x.shape[1]):
        values = x[:, place].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, std = float(values.mean()), float(values.std())
        if values.min() == values.max() or std == 0:
            mean, std = float(values.flat[0]), 1.0
        if not np.isfinite(std):
            raise InputError(f"{origin.name}: the numbers of column {place} are too large; scale them down")
        encoding["mean"][place], encoding["std"][place] = mean, std
    return encoding


def _scaled(x: NDArray[Any], encoding: Mapping[str, Any], origin: Origin) -> Tensor:
    if x.ndim == 4 and x.dtype == np.uint8:
        return torch.from_numpy(np.array(x, order="C"))
    scaled = np.empty(x.shape, np.float32)
    with np.errstate(over="ignore"):
        for place, (mean, std) in enumerate(zip(encoding["mean"], encoding["std"], strict=True)):
            scaled[:, place] = (x[:, place].astype(np.float64) - mean) / std  # float32 is too coarse for large means
    if not (finite := np.isfinite(scaled).reshape(len(x), -1).all(1)).all():
        raise InputError(f"{origin.at(int(finite.argmin()))}: a number is too large; mend the row")
    return torch.from_numpy(scaled)


def _load(path: Path) -> Any:
    # one array, or a dict of those in an .npz file
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            return held if isinstance(held, np.ndarray) else {key: held[key] for key in held.files}
    except Exception as error:  # a damaged file may make numpy and zipfile raise anything
        if "Object arrays" in str(error):
            raise InputError(
                f"{path} holds Python objects, which are not read; save plain arrays, names as texts"
            ) from None
        raise InputError(f"{path} is damaged or no {path.suffix} file; save it again") from None


def _checked(values: NDArray[Any], origin: Origin, key: str) -> NDArray[Any]:
    # an array of an .npz file, if it can be what its name promises
    if key in ("x", "x_train", "x_test"):
        _check_kind(values, Origin(f"{origin.name}: {key}"))
    if key not in (*WHOLE, *PARTED, *ENTRIES) or key.startswith("x"):
        return values
    vector: NDArray[Any] = labels(values, origin, key, ENTRIES.get(key, "label for each row"))
    if vector.dtype.kind not in "biufUS":
        raise InputError(f"{origin.name}: {key} holds {vector.dtype}; give numbers or texts")
    return np.char.decode(vector, "utf-8", "replace") if vector.dtype.kind == "S" else vector


def _parted(path: Path, held: dict[str, Any], origin: Origin) -> Rows:
    sizes = [len(held[key]) for key in PARTED]
    for part, (inputs, labels) in {"train": sizes[:2], "test": sizes[2:]}.items():
        if inputs != labels:
            raise InputError(f"{path} has {inputs} rows in x_{part} but {labels} in y_{part}; give one for each row")
    if held["x_train"].shape[1:] != held["x_test"].shape[1:]:
        shapes = [held[key].shape for key in ("x_train", "x_test")]
        raise InputError(f"{path}: x_train has shape {shapes[0]} but x_test {shapes[1]}; their rows must be alike")
    ids = tuple(f"train/{row}" for row in range(sizes[0])) + tuple(f"test/{row}" for row in range(sizes[2]))
    x, y = (np.concatenate([held[f"{key}_train"], held[f"{key}_test"]]) for key in "xy")
    origin = Origin(str(path), ids.__getitem__)
    rows = from_array(path.stem, x, _by_name(y, held.get("classes"), origin, "y"), origin, ids=ids)
    x_all, names, notes = rows.inputs
    notes = (*notes, f"the test part is that of the file, {sizes[2]} rows")
    return rows._replace(inputs=Inputs(x_all, names, notes), test=torch.arange(sizes[0], sum(sizes[::2])))


def _noted(rows: Rows, held: Mapping[str, Any], used: tuple[str, ...]) -> Rows:
    # with a sentence on arrays that play no part
    left = ", ".join(repr(key) for key in held if key not in (*used, "classes"))
    x, ids, notes = rows.inputs
    return rows._replace(inputs=Inputs(x, ids, (*notes, f"left out of {rows.origin.name}: {left}"))) if left else rows


def _ids(held: dict[str, Any], origin: Origin) -> tuple[str, ...]:
    if "ids" not in held:
        return ()
    ids = _checked(held["ids"], origin, "ids")
    if len(ids) != (count := len(held["x"])):
        raise InputError(f"{origin.name} has {count} rows in x but {len(ids)} in ids; give one for each row")
    return identified(ids, origin, "ids")


def _by_name(y: Any, classes: Any, origin: Origin, name: str) -> Any:
    # a Categorical where the file names its classes
    if y is None or classes is None:
        return y
    pandas: Any = import_module("pandas")
    names = [str(text) for text in classes]
    if len(set(names)) < len(names):
        raise InputError(f"{origin.name}: a class is named twice in classes")
    lowest = -1 if name == "y" and y.dtype.kind == "i" else 0  # -1: no label
    if y.dtype.kind not in "iu":
        y = pandas.Series(y).map({text: number for number, text in enumerate(names)}).fillna(-1).to_numpy()
    outside = np.flatnonzero((y < lowest) | (y >= len(names)))
    if outside.size:
        raise InputError(f"{origin.at(int(outside[0]), name)}: the label is none of the {len(names)} classes")
    return pandas.Categorical.from_codes(y.astype(np.int64), names)


def label_file(path: Path, rows: int) -> Any:
    """The labels of as many rows in an .npy file, in their own type, or in a text file, one in each line."""
    if not path.is_file():
        raise InputError(f"there is no file of labels {str(path)!r}; name an .npy, .csv or .txt file")
    if path.suffix.lower() == ".npy":
        return _load(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = list(csv.reader(file))
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except csv.Error:
        raise InputError(f"{path} has a line too long for a label; write one for each row of the inputs") from None
    before = int(bool(records) and TOLD.fullmatch(",".join(records[0]) + "\n") is not None)  # a line such as sep=;
    wide = next((line for line, fields in enumerate(records[before:], 1 + before) if len(fields) > 1), 0)
    if wide:
        raise InputError(f"{path}, line {wide}: several fields; write one label for each row of the inputs")
    labels = ["".join(fields) for fields in records[before:]]
    if len(labels) == rows + 1:
        return labels[1:]  # the first is a header
    if len(labels) == rows and labels[0].strip().lower() in HEADERS and labels[0] not in labels[1:]:
        raise InputError(
            f"{path} begins with {labels[0]!r}, which seems to be a header, so that there are {rows - 1:,} labels for "
            f"{rows:,} rows; give one for each row"
        )
    return labels
