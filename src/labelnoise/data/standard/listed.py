"""A data set of images on disk as a list: plain arrays that are made once by going through its files, and kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.data.dataset import Dataset
from labelnoise.data.pictures import Pictures
from labelnoise.errors import InputError

Arrays = Mapping[str, NDArray[Any]]
NAMES = ("folder", "paths", "labels", "test", "classes", "notes")  # of the arrays, all with one axis
LOOKED_FOR = 200  # files; to look for a million takes minutes


def as_arrays(
    folder: Path,
    paths: Sequence[bytes],
    labels: Sequence[int],
    *,
    train: int,
    classes: Sequence[str],
    notes: Sequence[str] = (),
) -> dict[str, NDArray[Any]]:
    """The list of a data set whose first `train` rows are for training and whose others are for the test."""
    arrays = {
        "folder": np.array([str(folder.absolute())]),
        "paths": np.array(paths, np.bytes_),  # (N,) from the folder on
        "labels": np.array(labels, np.int64),
        "test": np.arange(len(paths)) >= train,
        "classes": np.array(classes, np.str_),
        "notes": np.array(notes, np.str_),
    }
    _look_for_some(arrays, f"unpack all images below {folder}")
    return arrays


def from_arrays(name: str, arrays: Arrays, *, true: bool, rows: NDArray[np.int64] | None = None) -> Dataset:
    """The data set that a list describes, or some rows of it; `true` says that its labels count as right."""
    chosen = {key: arrays[key] if rows is None else arrays[key][rows] for key in ("paths", "labels", "test")}
    _look_for_some({**arrays, **chosen}, f"if the images have moved, convert {name.partition(':')[0]} again")
    pictures = Pictures(Path(str(arrays["folder"][0])), chosen["paths"])
    labels = torch.from_numpy(chosen["labels"])
    return Dataset(
        name,
        pictures,
        labels,
        labels if true else None,
        tuple(map(str, arrays["classes"])),
        pictures.names,
        torch.from_numpy(np.flatnonzero(chosen["test"])),
        tuple(map(str, arrays["notes"])),
        pictures.encoding,
        known_as=name,
    )


def _look_for_some(arrays: Arrays, advice: str) -> None:
    paths = arrays["paths"]
    some = range(0, len(paths), -(-len(paths) // LOOKED_FOR) or 1)
    for file in Pictures(Path(str(arrays["folder"][0])), paths).files(some):
        if not Path(file).is_file():
            raise InputError(f"there is no image {file}; {advice}")
