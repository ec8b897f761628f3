"""A data set in an open file: arrays in an .npz, and beside it a .json that says what they are and how they hash."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.files import write

FORMAT = "labelnoise data set, version 1"
ARRAYS = ("x", "y", "y_true", "ids", "classes", "test")


def save(dataset: Dataset, path: Path, facts: Mapping[str, Any]) -> None:
    """Write a data set with what else is known of it, in plain containers; files that are there are replaced."""
    if path.suffix != ".npz":
        raise InputError(f"{path} cannot hold a data set; choose a name that ends in .npz")
    arrays = _arrays(dataset)
    head = {
        "format": FORMAT,
        "name": dataset.name,
        "sha256": {name: _hash(array) for name, array in arrays.items()},
        "notes": dataset.notes,
        "encoding": dict(dataset.encoding),
    }
    write(path, lambda file: np.savez(file, allow_pickle=False, **arrays))
    write(path.with_suffix(".json"), json.dumps({**head, **facts}, indent=1) + "\n")


def is_saved(path: Path) -> bool:
    """Whether a path is that of a saved data set."""
    return path.suffix == ".npz" and _beside(path).get("format") == FORMAT


def load(path: Path) -> tuple[Dataset, dict[str, Any]]:
    """A saved data set and what the .json says, once every array is found to be what was saved."""
    head = _beside(path)
    if head.get("format") != FORMAT:
        raise InputError(f"{path.with_suffix('.json')} says nothing of a saved data set; it belongs beside {path}")
    arrays = _read(path, head)
    y_true, test = (arrays.get(name) for name in ("y_true", "test"))
    dataset = Dataset(
        head["name"],
        torch.from_numpy(arrays["x"]),
        torch.from_numpy(arrays["y"]),
        None if y_true is None else torch.from_numpy(y_true),
        tuple(arrays["classes"].tolist()),
        tuple(arrays["ids"].tolist()),
        None if test is None else torch.from_numpy(test),
        tuple(head["notes"]),
        head["encoding"],
    )
    return dataset, head


def _arrays(dataset: Dataset) -> dict[str, NDArray[Any]]:
    if not isinstance(dataset.x, Tensor):
        raise InputError(f"the inputs of {dataset.name} are read from disk image by image; they cannot be saved")
    tensors = {"x": dataset.x, "y": dataset.y_given, "y_true": dataset.y_true, "test": dataset.test}
    arrays = {name: tensor.contiguous().numpy() for name, tensor in tensors.items() if tensor is not None}
    return arrays | {"ids": np.array(dataset.ids), "classes": np.array(dataset.classes)}


def _read(path: Path, head: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in head["sha256"]}
    except Exception:  # a damaged file may make numpy and zipfile raise anything
        raise InputError(f"{path} is damaged or does not belong to the .json beside it; restore it") from None
    for name, array in arrays.items():
        if name not in ARRAYS or _hash(array) != head["sha256"][name]:
            raise InputError(
                f"{path} is not what was saved: {name} hashes otherwise; restore it and the .json beside it"
            )
    return arrays


def _beside(path: Path) -> dict[str, Any]:
    try:
        head = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return head if isinstance(head, dict) else {}


def _hash(array: NDArray[Any]) -> str:
    # of the values in little-endian order with their kind and shape, whatever machine wrote them
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    content = hashlib.sha256(repr((plain.dtype.str, plain.shape)).encode())
    content.update(plain.reshape(-1).view(np.uint8).data)
    return content.hexdigest()
