"""CIFAR-10 and CIFAR-100: the Python and the binary version of the official files."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from labelnoise.data.standard.cifar_classes import CIFAR10_CLASSES, CIFAR100_CLASSES, CIFAR100_SUPERCLASS
from labelnoise.data.standard.parts import Labels, Parts, Pixels, as_labels, labels_in, sha256
from labelnoise.data.standard.source import Source
from labelnoise.data.standard.unpickle import plain_objects
from labelnoise.errors import InputError

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
MOST = 160_000_000  # bytes; the largest file, CIFAR-100's training part, has 155,249,918

Part = tuple[Pixels, Labels]


def parse_pickled(content: bytes, origin: str, *, classes: int) -> Part:
    """A batch of the Python version: a pickled dictionary of data (N, 3072) and labels, of CIFAR-100 fine_labels."""
    held = plain_objects(content, origin)
    key = "labels" if classes == len(CIFAR10_CLASSES) else "fine_labels"
    if not isinstance(held, dict) or "data" not in held or key not in held:
        raise InputError(f"{origin} holds no dictionary with 'data' and {key!r}; download it again")
    data, labels = held["data"], labels_in(held[key])
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (PIXELS,):
        raise InputError(f"{origin}: 'data' is no array of images with {PIXELS} bytes each; download it again")
    if labels is None or len(labels) != len(data):
        raise InputError(f"{origin}: {key!r} has not a number for each image; download it again")
    return data.reshape(-1, *SHAPE), _in_range(labels, origin, classes)


def parse_binary(content: bytes, origin: str, *, classes: int) -> Part:
    """A batch of the binary version: records of a label, of CIFAR-100 superclass and label, and 3072 bytes."""
    before = 1 if classes == len(CIFAR10_CLASSES) else 2
    if not content or len(content) % (before + PIXELS):
        raise InputError(f"{origin} does not hold records of {before + PIXELS} bytes; download it again")
    records = np.frombuffer(content, np.uint8).reshape(-1, before + PIXELS)
    labels = _in_range(as_labels(records[:, before - 1]), origin, classes)
    if before == 2:
        wrong = np.flatnonzero(np.array(CIFAR100_SUPERCLASS)[labels] != records[:, 0])
        if wrong.size:
            raise InputError(f"{origin}, record {wrong[0]}: label and superclass do not match; download it again")
    return records[:, before:].reshape(-1, *SHAPE), labels


class Version(NamedTuple):
    """The files of one version of a data set, and what reads them."""

    train: Mapping[str, str]  # names of the files, in order, and their digests; none where nobody has published it
    test: Mapping[str, str]
    parse: Callable[..., Part]


VERSIONS = {
    "cifar10": (
        Version(
            {
                "data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
                "data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
                "data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
                "data_batch_4": "md5:634d18415352ddfa80567beed471001a",
                "data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
            },
            {"test_batch": "md5:40351d587109b95175f43aff81a1287e"},
            parse_pickled,
        ),
        Version(
            {
                "data_batch_1.bin": "md5:5dd7e06a14cb22eb9f671a540d1b7c25",
                "data_batch_2.bin": "md5:5ea93a67294ea407fff1d09f752e9692",
                "data_batch_3.bin": "md5:942cd6a4bcdd0dd3c604fbe906cb4421",
                "data_batch_4.bin": "md5:ae636b3ba5c66a11e91e8cb52e771fcb",
                "data_batch_5.bin": "md5:53f37980c15c3d472c316c40844f3f0d",
            },
            {"test_batch.bin": "md5:803d5f7f4d78ea53de84dbe85f74fb6d"},
            parse_binary,
        ),
    ),
    "cifar100": (
        Version(
            {"train": "md5:16019d7e3df5f24257cddd939b257f8d"},
            {"test": "md5:f0ef6b0ae62326f3e7ffdfab6717acfc"},
            parse_pickled,
        ),
        Version({"train.bin": ""}, {"test.bin": ""}, parse_binary),
    ),
}
TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
CLASSES = {"cifar10": CIFAR10_CLASSES, "cifar100": CIFAR100_CLASSES}
ROWS = {"cifar10": (5_000, 1_000), "cifar100": (500, 100)}  # of each class
# sha256 of the arrays, the same for both versions; that of CIFAR-100's images is not known.
CONTENT: Mapping[str, Mapping[str, str]] = {
    "cifar10": {
        "x_train": "9d5c2eddadb0deff02c14c350c0385aab7b1d5ff1edfeb4997c8dc8644960111",
        "y_train": "f5cfe00b0f00968c0cc5ff3b1d2de51b10e33efa277c2986f4e0fa63e58c9f4f",
        "x_test": "177777c33ba79825320efa646ad04a94bdc3c80e4ebe3bd21724f8cdfd4b9d56",
        "y_test": "cbb7365de8ed11f05cc4c3a1e7f78144127c5e851efd83762fb18202461230bb",
    },
    "cifar100": {"y_train": "8bf4935e7c77a3096270043c6f3b221b6ecb9c63d1a08608e9af66cff17e977a"},
}


def read(source: Source, name: str) -> Parts:
    """CIFAR-10 or CIFAR-100 from the official files of either version."""
    version = _version(source, name)
    train, test = (
        _together(_batch(source, file, digest, name, version) for file, digest in files.items())
        for files in (version.train, version.test)
    )
    parts = Parts(*train, *test, CLASSES[name])
    _check(source, name, parts)
    return parts


def _version(source: Source, name: str) -> Version:
    first = {next(iter(version.train)): version for version in VERSIONS[name]}
    for file, version in first.items():
        if source.find(file):
            return version
    raise InputError(
        f"{source.path} holds neither {' nor '.join(first)}; name the folder or archive of {TITLES[name]} as downloaded"
    )


def _batch(source: Source, file: str, digest: str, name: str, version: Version) -> Part:
    member = source.require(file)
    content = source.checked(member, digest, most=MOST, known=_known()) if digest else source.read(member, most=MOST)
    return version.parse(content, source.origin(member), classes=len(CLASSES[name]))


def _known() -> dict[str, str]:
    return {
        digest: f"{file} of {TITLES[name]}"
        for name, versions in VERSIONS.items()
        for version in versions
        for file, digest in [*version.train.items(), *version.test.items()]
    }


def _together(batches: Iterable[Part]) -> Part:
    pixels, labels = zip(*batches, strict=True)
    return np.concatenate(pixels), np.concatenate(labels)


def _in_range(labels: Labels, origin: str, classes: int) -> Labels:
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        row = outside[0]
        raise InputError(f"{origin}, image {row}: label {labels[row]} is none of 0 to {classes - 1}; download it again")
    return labels


def _check(source: Source, name: str, parts: Parts) -> None:
    for part, labels, rows in zip(("train", "test"), (parts.y_train, parts.y_test), ROWS[name], strict=True):
        if (np.bincount(labels, minlength=len(parts.classes)) != rows).any():
            raise InputError(f"{source.path}: the {part} part has not {rows} images of each class; download it again")
    for key, digest in CONTENT[name].items():
        if sha256(getattr(parts, key)) != digest:
            what = f"the {'images' if key.startswith('x') else 'labels'} of the {key[2:]} part"
            raise InputError(f"{source.path}: {what} are not those of {TITLES[name]} in their order; download it again")
