"""Parameters of a classifier as the plain values that are meant, or a sentence on what they should be."""

from typing import Any

import numpy as np

from labelnoise.errors import InputError


def plain(value: Any) -> Any:
    """A number of numpy, as searches draw them, as Python's own; all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def whole(name: str, value: Any) -> int | None:
    """A whole number, or None for what suits."""
    found = plain(value)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise InputError(f"{name} must be a whole number, or None for what suits, not {found!r}")
    return found


def number(name: str, value: Any) -> float:
    """Any number."""
    found = plain(value)
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise InputError(f"{name} must be a number, not {found!r}")
    return float(found)


def text(name: str, value: Any) -> str:
    """A name."""
    found = plain(value)
    if not isinstance(found, str):
        raise InputError(f"{name} must be a text, not {found!r}")
    return found
