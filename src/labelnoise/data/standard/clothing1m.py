"""Clothing1M (Xiao et al. 2015): a million images under the labels that shops gave them, 10,526 with verified ones.

Its text files lie in the folder itself, in `annotations` or in `label`; its images in `images/0` to `images/9`, or in
`0` to `9`. Keys begin with `images/` or do not.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.dataset import Dataset
from labelnoise.data.standard.listed import Arrays, as_arrays, from_arrays
from labelnoise.errors import InputError
from labelnoise.rng import uniforms

NAMED = "T-shirt, Shirt, Knitwear, Chiffon, Sweater, Hoodie, Windbreaker, Jacket, Down Coat, Suit, Shawl, Dress, Vest"
CLASSES = (*NAMED.split(", "), "Underwear")
PLACES = (".", "annotations", "label")  # of the text files
TRAIN = 1_000_000
TEST_COUNTS = (845, 636, 527, 1171, 918, 824, 558, 297, 1017, 727, 523, 686, 946, 851)  # verified test images, by class
BALANCED = 18_976  # training images of each class in the balanced subset


def index(folder: Path) -> dict[str, NDArray[Any]]:
    """List the noisy training images and the verified test images of a folder."""
    _check_names(folder)
    train, test = (_keys(_find(folder, f"{part}_key_list.txt")) for part in ("noisy_train", "clean_test"))
    both = set(train) & set(test)
    notes = _incomplete(len(train), len(test))
    if both:
        notes.append(f"{len(both)} images are in the lists of both parts; they are kept for the test alone")
    learnt = [key for key in train if key not in both]
    verified = _labels(_find(folder, "clean_label_kv.txt"), test)
    _check_counts(verified)
    labels = _labels(_find(folder, "noisy_label_kv.txt"), learnt) + verified
    images = b"images/" if (folder / "images").is_dir() else b""
    paths = [images + key for key in (*learnt, *test)]
    return as_arrays(folder, paths, labels, train=len(learnt), classes=CLASSES, notes=notes)


def dataset(arrays: Arrays) -> Dataset:
    """All training images under their noisy labels, and the test images under their verified ones."""
    return from_arrays("clothing1m", arrays, true=False)


def balanced(arrays: Arrays, each: int = BALANCED) -> Dataset:
    """The same number of training images of every noisy label, always the same ones, and all test images."""
    labels, draws = arrays["labels"], uniforms(len(arrays["labels"]), "clothing1m:balanced")
    rows = [np.flatnonzero(arrays["test"])]
    for label, name in enumerate(CLASSES):
        own = np.flatnonzero((labels == label) & ~arrays["test"])
        if len(own) < each:
            raise InputError(
                f"clothing1m:balanced needs {each} training images of every class, but there are {len(own)} of "
                f"{name!r}; use clothing1m, or convert the whole data set"
            )
        rows.append(own[draws[own].argsort(kind="stable")[:each]])
    return from_arrays("clothing1m:balanced", arrays, true=False, rows=np.sort(np.concatenate(rows)))


def _find(folder: Path, name: str) -> Path:
    if found := next((folder / place / name for place in PLACES if (folder / place / name).is_file()), None):
        return found
    raise InputError(
        f"neither {folder} nor its annotations or label folder holds {name}; name the folder of Clothing1M"
    )


def _check_names(folder: Path) -> None:
    for path in (folder / place / "category_names_eng.txt" for place in PLACES):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else CLASSES
        if [_letters(line) for line in lines if line.strip()] != list(map(_letters, CLASSES)):
            raise InputError(f"{path} names other classes than {', '.join(CLASSES)}; it belongs to another data set")


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name.casefold()))


def _keys(path: Path) -> list[bytes]:
    keys = [_key(line, path) for line in path.read_bytes().split()]
    if len(set(keys)) < len(keys):
        raise InputError(f"{path} lists {len(keys) - len(set(keys))} images twice; download it again")
    return keys


def _key(text: bytes, path: Path) -> bytes:
    if text.startswith(b"/") or b".." in text.split(b"/"):
        raise InputError(f"{path} lists {text.decode(errors='replace')!r}, which lies outside its folder; refused")
    return text.removeprefix(b"images/")


def _labels(path: Path, keys: Sequence[bytes]) -> list[int]:
    known: dict[bytes, int] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        match line.split():
            case [key, label] if label.isdigit() and int(label) < len(CLASSES):
                known[key.removeprefix(b"images/")] = int(label)
            case []:
                pass
            case _:
                raise InputError(f"{path}, line {number}: not a key and a label from 0 to 13; download the file again")
    if missing := next((key for key in keys if key not in known), None):
        raise InputError(f"{path} has no label of {missing.decode(errors='replace')!r}; download the file again")
    return [known[key] for key in keys]


def _check_counts(verified: Sequence[int]) -> None:
    counts = np.bincount(verified, minlength=len(CLASSES)).tolist()
    if len(verified) == sum(TEST_COUNTS) and tuple(counts) != TEST_COUNTS:
        raise InputError(f"verified test labels have counts {counts}, not {list(TEST_COUNTS)}; download them again")


def _incomplete(train: int, test: int) -> list[str]:
    if (train, test) == (TRAIN, sum(TEST_COUNTS)):
        return []
    return [f"a part of Clothing1M: {train} of {TRAIN} training and {test} of {sum(TEST_COUNTS)} test images"]
