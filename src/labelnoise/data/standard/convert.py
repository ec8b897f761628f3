"""Official files of a standard data set into one file of the data root, after they have been checked."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.standard import cifar, cifar_n, clothing1m, idx, imagenet, svhn
from labelnoise.data.standard.cache import load, path_of, save
from labelnoise.data.standard.catalogue import CARDS, Card, find
from labelnoise.data.standard.parts import Parts
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError


class Content(NamedTuple):
    """What goes into the data root."""

    arrays: Mapping[str, Sequence[NDArray[Any]]]  # each in pieces
    facts: Mapping[str, Any] = {}


Reader = Callable[[Card, Path], Content]


def convert(name: str, path: Path, *, force: bool = False, say: Callable[[str], None] = lambda _: None) -> Path:
    """Read a folder, an archive or a file as its authors distribute it, and write what it holds into the data root."""
    card = find(name)
    target = path_of(card)
    if target.exists() and not force:
        raise InputError(f"{target} exists; use --force to replace it")
    say(f"reading {path}")
    content = READERS[card.name](card, path)
    say(f"checked: {card.checked}")
    return save(card, content.arrays, {**content.facts, "source": _source(path), "checked": card.checked})


def images(read: Callable[[Source, str], Parts]) -> Reader:
    """A reader of images that fit in memory: rows of the training part, then those of the test part."""

    def content(card: Card, path: Path) -> Content:
        parts = read(Source.open(path), card.name)
        x, y = (parts.x_train, parts.x_test), (parts.y_train, parts.y_test)
        return Content({"x": x, "y": y}, {"train": len(parts.y_train), "classes": parts.classes})

    return content


def _images_on_disk(index: Callable[[Path], Mapping[str, NDArray[Any]]]) -> Reader:
    # which stay where they are
    return lambda _, path: Content({key: (array,) for key, array in index(path).items()})


def _human(card: Card, path: Path) -> Content:
    owner = CARDS[card.images_of]
    if not path_of(owner).is_file():
        raise InputError(f"{card.name} has labels only, and the images of {owner.name}; convert {owner.name} first")
    labels = cifar_n.read(path)
    facts, arrays = load(owner, "y")
    if not np.array_equal(labels["clean_label"], arrays["y"][: facts["train"]]):
        raise InputError(f"the labels in {path} are not in the order of {owner.name}; get {card.files}")
    return Content({key: (array,) for key, array in labels.items()})


def _source(path: Path) -> dict[str, str]:
    # of a single file the digest; the files of a folder are checked one by one
    if path.is_dir():
        return {"name": path.name}
    with path.open("rb") as file:
        return {"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


READERS: dict[str, Reader] = {
    "mnist": images(idx.read),
    "fashion_mnist": images(idx.read),
    "cifar10": images(cifar.read),
    "cifar100": images(cifar.read),
    "svhn": images(lambda source, _: svhn.read(source)),
    "cifar10n": _human,
    "cifar100n": _human,
    "clothing1m": _images_on_disk(clothing1m.index),
    "imagenet": _images_on_disk(imagenet.index),
}
