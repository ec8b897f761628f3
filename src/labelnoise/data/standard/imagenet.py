"""ImageNet (ILSVRC 2012): `train` and `val`, in each a folder for every class, named by its number in WordNet."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labelnoise.data.dataset import Dataset
from labelnoise.data.standard.listed import Arrays, as_arrays, from_arrays
from labelnoise.errors import InputError

WNID = re.compile(r"n\d{8}")
SUFFIXES = (".jpeg", ".jpg", ".png")
MAPPING = "LOC_synset_mapping.txt"
WHOLE = (1000, 1_281_167, 50_000)  # classes, training and validation images


def index(folder: Path) -> dict[str, NDArray[Any]]:
    """List the training images of a folder, and those of its validation part for the test."""
    train, test = (_classes(folder / part) for part in ("train", "val"))
    if lone := sorted(set(train) ^ set(test)):
        raise InputError(f"class {lone[0]} is in only one of {folder}/train and {folder}/val; add it to the other")
    paths: list[bytes] = []
    labels: list[int] = []
    ends = []
    for part in ("train", "val"):
        for label, wnid in enumerate(train):
            images = _images(folder / part / wnid)
            paths += [os.fsencode(f"{part}/{wnid}/{name}") for name in images]
            labels += [label] * len(images)
        ends.append(len(paths))
    found = (len(train), ends[0], ends[1] - ends[0])
    notes = [] if found == WHOLE else [_incomplete(found)]
    return as_arrays(folder, paths, labels, train=ends[0], classes=_names(folder, train), notes=notes)


def dataset(arrays: Arrays) -> Dataset:
    """All images; their labels count as true."""
    return from_arrays("imagenet", arrays, true=True)


def _classes(part: Path) -> list[str]:
    # in alphabetical order, as everyone numbers them
    if not part.is_dir():
        raise InputError(f"there is no folder {part}; name the folder with train and val of ImageNet")
    with os.scandir(part) as entries:
        wnids = sorted(entry.name for entry in entries if WNID.fullmatch(entry.name) and entry.is_dir())
    if not wnids:
        raise InputError(
            f"{part} holds no folders of classes such as n01440764; make one for every class and move its images there"
        )
    return wnids


def _images(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.lower().endswith(SUFFIXES))
    if not names:
        raise InputError(f"{folder} holds no images, whose names end in {', '.join(SUFFIXES)}; unpack them there")
    return names


def _names(folder: Path, wnids: Sequence[str]) -> list[str]:
    # Two classes are cranes, a bird and a machine.
    if not (path := folder / MAPPING).is_file():
        return list(wnids)
    lines = (line.split(maxsplit=1) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    known = {line[0]: line[1].strip() for line in lines if len(line) == 2}
    names = [known.get(wnid, wnid) for wnid in wnids]
    often = Counter(names)
    return [f"{name} ({wnid})" if often[name] > 1 else name for name, wnid in zip(names, wnids, strict=True)]


def _incomplete(found: tuple[int, int, int]) -> str:
    numbers = zip(found, WHOLE, ("classes", "training images", "validation images"), strict=True)
    return "a part of ImageNet: " + ", ".join(f"{some} of {whole} {what}" for some, whole, what in numbers)
