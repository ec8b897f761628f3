"""A data set in open files: arrays in an .npz, and beside it a .json that says what they are.

The .json holds the hash of every array, and the .npz that of the .json, so that neither can change unseen.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.files import write

FORMAT = "labelnoise data set, version 1"
MARK = "json_sha256"  # the array that binds an .npz to its .json
NEEDED = {"name", "sha256", "known_as", "assumed", "notes", "encoding"}


def save(dataset: Dataset, path: Path, facts: Mapping[str, Any], *, force: bool = False) -> None:
    """Write a data set with what else is known of it, in plain containers; `force` replaces files that are there."""
    check(path, force=force)
    arrays = _arrays(dataset)
    head = {
        "format": FORMAT,
        "name": dataset.name,
        "sha256": {name: _hash(array) for name, array in arrays.items()},
        "known_as": dataset.known_as,
        "assumed": dataset.assumed,
        "notes": dataset.notes,
        "encoding": dict(dataset.encoding),
    }
    text = json.dumps({**head, **facts}, indent=1, allow_nan=False) + "\n"
    mark = np.array(hashlib.sha256(text.encode()).hexdigest())
    write(path, lambda file: np.savez(file, allow_pickle=False, **{**arrays, MARK: mark}))
    write(path.with_suffix(".json"), text)


def check(path: Path, *, force: bool, leave: str = "force=True") -> None:
    """Raise where a data set cannot be saved; `leave` is what whoever asks has to write so that files are replaced."""
    if path.suffix != ".npz":
        raise InputError(f"{path} cannot hold a data set; choose a name that ends in .npz")
    for there in (path, path.with_suffix(".json")):
        if there.exists() and not force:
            raise InputError(f"{there} exists; choose another name, or replace it with {leave}")


def is_saved(path: Path) -> bool:
    """Whether a path is that of a saved data set, by what is in it or by what lies beside it."""
    try:
        with ZipFile(path) as archive:
            return f"{MARK}.npy" in archive.namelist() or FORMAT in path.with_suffix(".json").read_text("utf-8")
    except (OSError, BadZipFile, UnicodeDecodeError):
        return False


def load(path: Path) -> tuple[Dataset, dict[str, Any]]:
    """A saved data set and what its .json says, once both files are found to be what was saved."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    arrays = _read(path)
    head = _head(path, arrays.pop(MARK))
    if set(arrays) != set(head["sha256"]):
        raise InputError(f"{path} has other arrays than were saved in it; restore it")
    for name, array in arrays.items():
        if _hash(array) != head["sha256"][name]:
            raise InputError(f"{path} is not what was saved: {name} has changed; restore it")
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
        known_as=head["known_as"],
        assumed=head["assumed"],
    )
    return dataset, head


def _arrays(dataset: Dataset) -> dict[str, NDArray[Any]]:
    if not isinstance(dataset.x, Tensor):
        raise InputError(f"the inputs of {dataset.name} are read from disk image by image; they cannot be saved")
    tensors = {"x": dataset.x, "y": dataset.y_given, "y_true": dataset.y_true, "test": dataset.test}
    arrays = {name: tensor.detach().contiguous().numpy() for name, tensor in tensors.items() if tensor is not None}
    return arrays | {"ids": np.array(dataset.ids), "classes": np.array(dataset.classes)}


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in {MARK, *file.files}}
    except Exception:  # a damaged file may make numpy and zipfile raise anything
        raise InputError(f"{path} is damaged or no saved data set; restore it") from None


def _head(path: Path, mark: NDArray[Any]) -> dict[str, Any]:
    beside = path.with_suffix(".json")
    try:
        text = beside.read_bytes()
    except OSError:
        raise InputError(f"{path} needs the .json it was saved with; put it beside it as {beside.name}") from None
    if hashlib.sha256(text).hexdigest() != str(mark):
        raise InputError(f"{beside} is not what was saved with {path.name}; restore it")
    head = json.loads(text)
    if not isinstance(head, dict) or head.get("format") != FORMAT or not set(head) >= NEEDED:
        raise InputError(f"{beside} is not of the format {FORMAT!r}, the one that is read here")
    return head


def _hash(array: NDArray[Any]) -> str:
    # of the values in little-endian order with their kind and shape, whatever machine wrote them
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    content = hashlib.sha256(repr((plain.dtype.str, plain.shape)).encode())
    content.update(plain.reshape(-1).view(np.uint8).data)
    return content.hexdigest()
