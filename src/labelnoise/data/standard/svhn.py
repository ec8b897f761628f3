"""SVHN, cropped digits: train_32x32.mat and test_32x32.mat, MATLAB files of version 5."""

import io
from importlib import import_module
from typing import Any

import numpy as np

from labelnoise.data.standard.parts import Labels, Parts, Pixels, as_labels
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError

MOST = 190_000_000  # bytes; the larger file has 182,040,794
MOST_ROWS = 100_000
DIGESTS = {
    "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
}
KNOWN = {digest: file for file, digest in DIGESTS.items()} | {"md5:a93ce644f1a588dc4d68dda5feec44a7": "extra_32x32.mat"}
HDF5 = b"\x89HDF\r\n\x1a\n"
NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "single", "double")


def read(source: Source) -> Parts:
    """SVHN from its two official files."""
    (x_train, y_train), (x_test, y_test) = (_part(source, file) for file in DIGESTS)
    return Parts(x_train, y_train, x_test, y_test, tuple("0123456789"))


def parse_mat(content: bytes, origin: str) -> tuple[Pixels, Labels]:
    """Images X (32, 32, 3, N) and labels y (N, 1), where 10 stands for the digit 0."""
    if content.startswith(b"MATLAB 7.3") or HDF5 in content[:1024]:
        raise InputError(
            f"{origin} is a MATLAB file of version 7.3, the official one is of version 5; download it again"
        )
    scipy_io: Any = import_module("scipy.io")
    try:
        listed = {name: (shape, kind) for name, shape, kind in scipy_io.whosmat(io.BytesIO(content))}
    except Exception:  # a damaged file may make scipy raise anything
        raise InputError(f"{origin} is damaged or no MATLAB file; download it again") from None
    _check_listed(listed, origin)
    try:
        held = scipy_io.loadmat(io.BytesIO(content), variable_names=["X", "y"])
    except Exception:
        raise InputError(f"{origin} is damaged or cut short; download it again") from None
    labels = held["y"][:, 0]
    if not np.isin(labels, range(1, 11)).all():
        raise InputError(f"{origin}: a label is none of 1 to 10; download it again")
    return np.ascontiguousarray(held["X"].transpose(3, 2, 0, 1)), as_labels(labels) % 10


def _part(source: Source, file: str) -> tuple[Pixels, Labels]:
    member = source.require(file)
    return parse_mat(source.checked(member, DIGESTS[file], most=MOST, known=KNOWN), source.origin(member))


def _check_listed(listed: dict[str, tuple[tuple[int, ...], str]], origin: str) -> None:
    # before anything is unpacked, so that cells and objects stay where they are
    for name in ("X", "y"):
        if name not in listed:
            raise InputError(f"{origin} has no variable {name!r} or is cut short; download it again")
    (x_shape, x_kind), (y_shape, y_kind) = listed["X"], listed["y"]
    rows = x_shape[-1]
    if x_kind != "uint8" or x_shape != (32, 32, 3, rows) or rows > MOST_ROWS:
        raise InputError(f"{origin}: X is {x_kind} {x_shape}, not uint8 (32, 32, 3, N); download it again")
    if y_kind not in NUMBERS or y_shape != (rows, 1):
        raise InputError(
            f"{origin}: y is {y_kind} {y_shape}, not a number for each of {rows} images; download it again"
        )
