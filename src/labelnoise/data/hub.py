"""Hugging Face data sets: one split as a table, with class names in their order; the library itself is not needed."""

from importlib import import_module
from typing import Any

from labelnoise.errors import InputError


def is_hub(source: Any) -> bool:
    """Whether something looks like a split of a Hugging Face data set, or like several."""
    return hasattr(source, "column_names") and (hasattr(source, "features") or hasattr(source, "keys"))


def to_frame(source: Any) -> Any:
    """A split as a DataFrame, whose columns of class numbers become Categoricals of class names."""
    if not hasattr(source, "to_pandas"):
        splits = ", ".join(map(str, source.keys())) if hasattr(source, "keys") else ""
        which = f"one of its parts, {splits}" if splits else "a data set that is not a stream"
        raise InputError(f"a Hugging Face data set is read from {which}")
    pandas: Any = import_module("pandas")
    frame = source.to_pandas()
    for column, feature in (source.features or {}).items():
        if names := getattr(feature, "names", None):
            codes = frame[column].fillna(-1).astype("int64")
            frame[column] = pandas.Categorical.from_codes(codes, list(names))
    return frame


def name_of(source: Any) -> str:
    """What the data set is called."""
    return str(getattr(getattr(source, "info", None), "dataset_name", None) or "data")
