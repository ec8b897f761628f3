"""Labels that are missing: arrays of whole numbers have -1 for them, since they know no other sign for none."""

from collections.abc import Sequence
from importlib import import_module
from numbers import Integral
from typing import Any


def without_minus_one(values: Any, classes: Sequence[Any] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Labels in which the whole number -1 is none, and a sentence on that; it is a class if named, or beside 1."""
    if getattr(getattr(values, "dtype", None), "kind", "") not in ("i", "f", "O") or "-1" in map(str, classes or ()):
        return values, ()
    pandas: Any = import_module("pandas")  # late, for the import takes half a second
    series = pandas.Series(values)
    if not _are_whole(series.dropna()):
        return values, ()
    none = (series == -1).fillna(False).astype(bool)
    if not none.any() or set(series[~none].dropna()) == {1}:
        return values, ()
    return series.mask(none), (f"the label -1 is taken for none (rows: {none.sum()})",)


def _are_whole(known: Any) -> bool:
    # numbers that missing ones beside them may have made floats, or objects
    if known.dtype.kind == "O":
        return all(isinstance(each, Integral) and not isinstance(each, bool) for each in known)
    return bool((known == known.round()).all())
