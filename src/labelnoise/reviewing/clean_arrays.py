"""Cleaned arrays: every array of the file with the rows that stay, labels in their own type."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.arrays import label_file, labels
from labelnoise.data.factor import Origin
from labelnoise.data.rows import numbered
from labelnoise.data.table import LABEL_WEIGHT
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.reviewing.clean_table import labelled, relabelled
from labelnoise.reviewing.outcome import Outcome
from labelnoise.reviewing.source import Source

Arrays = dict[str, NDArray[Any]]


def write_npz(path: Path, source: Source, done: Outcome, out: Path) -> None:
    """Write an .npz file anew, as its rows become; other arrays stay."""
    with np.load(path, allow_pickle=False) as file:
        _write({name: file[name] for name in file.files}, path, source, done, out)


def write_with_labels(path: Path, source: Source, done: Outcome, out: Path) -> None:
    """Write an .npy file of inputs and its labels as one .npz file."""
    x = np.load(path, allow_pickle=False)
    y = labels(label_file(Path(source.settings.labels), len(x)), Origin(source.settings.labels))
    _write({"x": x, "y": y, "ids": np.array(numbered(len(x)))}, path, source, done, out)


def _write(held: Arrays, path: Path, source: Source, done: Outcome, out: Path) -> None:
    parts = ("_train", "_test") if "x_train" in held and "x_test" in held else ("",)
    y = np.concatenate([held[f"y{part}"].reshape(-1) for part in parts])
    rows = labelled(y, source.dataset, Origin(str(path)), "y")
    classes = held.get("classes")
    new = _relabelled(y, rows, source, done, classes)
    kept, weights = np.ones(len(y), bool), np.full(len(y), np.nan)
    kept[rows] = done.kept
    start, made = 0, dict(held)
    for part in parts:
        size = len(held[f"y{part}"])
        here = slice(start, start + size)
        made |= {name: held[name][kept[here]] for name in held if _is_by_row(name, held[name], part, size)}
        made[f"y{part}"] = new[here].reshape(held[f"y{part}"].shape)[kept[here]]
        if done.weights is not None:
            weights[rows] = done.weights
            made[f"{LABEL_WEIGHT}{part}"] = weights[here]
        start += size
    write(out, lambda file: np.savez(file, allow_pickle=False, **made))


def check_free(path: Path) -> None:
    """Raise where an .npz file has weights already."""
    with np.load(path, allow_pickle=False) as file:
        if taken := [name for name in file.files if name.startswith(LABEL_WEIGHT)]:
            raise InputError(f"{path} has an array {taken[0]!r} already, of an earlier audit; delete it first")


def _relabelled(
    y: NDArray[Any], rows: NDArray[np.int64], source: Source, done: Outcome, classes: NDArray[Any] | None
) -> NDArray[Any]:
    if classes is None or y.dtype.kind not in "iu":
        result: NDArray[Any] = relabelled(y, rows, source.dataset, done)
        return result
    numbers = {str(name): number for number, name in enumerate(classes)}
    new = y.copy()
    new[rows] = [numbers[source.dataset.classes[label]] for label in done.labels]
    return new


def _is_by_row(name: str, values: NDArray[Any], part: str, size: int) -> bool:
    return name != "classes" and name.endswith(part) and values.ndim > 0 and len(values) == size
