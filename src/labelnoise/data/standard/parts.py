"""What the official files of an image data set hold."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # (N, C, H, W)
Labels = NDArray[np.int64]  # (N,)


class Parts(NamedTuple):
    """The official training and test parts, rows in the official order; every label is less than len(classes)."""

    x_train: Pixels
    y_train: Labels
    x_test: Pixels
    y_test: Labels
    classes: tuple[str, ...]


def as_labels(values: Any) -> Labels:
    """Labels of any whole-number type, as int64 of their own memory."""
    return np.array(values, np.int64)


def labels_in(values: Any) -> Labels | None:
    """A list of whole numbers, or an array of them in one row, as labels; None where it is neither."""
    if isinstance(values, list) and all(type(value) is int and abs(value) < 2**31 for value in values):
        return as_labels(values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return as_labels(values)
    return None


def sha256(array: NDArray[Any]) -> str:
    """The digest of the values of an array, in the order of its axes and little end first."""
    return hashlib.sha256(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data).hexdigest()
