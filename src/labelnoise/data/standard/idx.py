"""MNIST and Fashion-MNIST: files in the idx format, or one .npz file with the same arrays."""

import io
import math
import struct
import zipfile
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelnoise.data.standard.parts import Parts, as_labels
from labelnoise.data.standard.source import Source, check_digest
from labelnoise.errors import InputError

UNSIGNED_BYTES = 0x08  # the idx format's number of the type
MOST = 16 + 60_000 * 28 * 28  # bytes of the largest file, decompressed

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
ARRAYS = ("x_train", "y_train", "x_test", "y_test")  # what an .npz file calls them
TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
# Of the decompressed files, for there are differently compressed copies.
DIGESTS = {
    "mnist": (
        "md5:6bbc9ace898e44ae57da46a324031adb",
        "md5:a25bea736e30d166cdddb491f175f624",
        "md5:2646ac647ad5339dbf082846283269ea",
        "md5:27ae3e4e09519cfbb04c329615203637",
    ),
    "fashion_mnist": (
        "md5:f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "md5:9018921c3c673c538a1fc5bad174d6f9",
        "md5:8181f5470baa50b63fa0f6fddb340f0a",
        "md5:15d484375f8d13e6eb1aabb0c3f46965",
    ),
}
CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion_mnist": (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ),
}


def read(source: Source, name: str) -> Parts:
    """MNIST or Fashion-MNIST from its four official files, each compressed or not, or from one .npz file."""
    if packed := source.find(f"{name}.npz"):
        found = _unpacked(source, packed, DIGESTS[name])
    else:
        found = [_array(source, file, digest) for file, digest in zip(FILES, DIGESTS[name], strict=True)]
    x_train, y_train, x_test, y_test = found
    return Parts(x_train[:, None], as_labels(y_train), x_test[:, None], as_labels(y_test), CLASSES[name])


def read_idx(content: bytes, origin: str) -> NDArray[np.uint8]:
    """The array in an idx file of bytes: 0, 0, the type, the number of axes, their sizes, the values."""
    if len(content) < 4 or content[:2] != b"\0\0":
        raise InputError(f"{origin} is no idx file; download it again")
    kind, axes = content[2], content[3]
    if kind != UNSIGNED_BYTES:
        raise InputError(f"{origin} holds numbers of type {kind:#04x}, not unsigned bytes; download it again")
    start = 4 + 4 * axes
    if len(content) < start:
        raise InputError(f"{origin} is cut short; download it again")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    expected = start + math.prod(shape)
    if len(content) != expected:
        raise InputError(f"{origin} has {len(content):,} bytes instead of {expected:,}; download it again")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _array(source: Source, file: str, digest: str) -> NDArray[np.uint8]:
    dotted = file.replace("-idx", ".idx")  # some mirrors spell it so
    member = source.require(file, f"{file}.gz", dotted, f"{dotted}.gz")
    return read_idx(source.checked(member, digest, most=MOST, known=_known()), source.origin(member))


def _unpacked(source: Source, member: str, digests: Sequence[str]) -> list[NDArray[np.uint8]]:
    # held against the digests of the idx files that the arrays would be
    origin = source.origin(member)
    try:
        with np.load(io.BytesIO(source.read(member, most=2 * MOST)), allow_pickle=False) as file:
            found = [np.asarray(file[name], np.uint8) for name in ARRAYS]
    except (KeyError, ValueError, EOFError, OSError, zipfile.BadZipFile):
        raise InputError(f"{origin} is damaged or lacks one of {', '.join(ARRAYS)}; download it again") from None
    for name, values, digest in zip(ARRAYS, found, digests, strict=True):
        head = struct.pack(f">4B{values.ndim}I", 0, 0, UNSIGNED_BYTES, values.ndim, *values.shape)
        check_digest(head + values.tobytes(), f"{origin}, {name} as an idx file,", digest, _known())
    return found


def _known() -> dict[str, str]:
    return {
        digest: f"{file} of {TITLES[name]}"
        for name, digests in DIGESTS.items()
        for file, digest in zip(FILES, digests, strict=True)
    }
