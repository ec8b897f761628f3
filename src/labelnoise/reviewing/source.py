"""Where audited data come from: the file or folder, how it was read, and the data set that it gave."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from labelnoise.config import Data
from labelnoise.data import saved
from labelnoise.data.dataset import Dataset, load
from labelnoise.data.own import is_own, read_labelled
from labelnoise.errors import InputError


class Source(NamedTuple):
    """Data as they were asked for and as they were read."""

    path: Path | None  # None: built in
    settings: Data
    dataset: Dataset
    images: Path | None = None  # folder whose images may be shown where a table lists them; None: that of the table
    named: tuple[str, ...] = ()  # classes that were named, in the order of columns of probabilities

    @classmethod
    def read(cls, settings: Data, classes: Sequence[str] | None = None) -> "Source":
        """The labelled rows of data by name or path, and of the classes that are named also those without a row."""
        name = settings.source
        dataset = read_labelled(name, settings, classes) if is_own(name) else load(name, 0)
        further = [each for each in classes or () if each not in dataset.classes]
        dataset = replace(dataset, classes=(*dataset.classes, *further)) if further else dataset
        return cls(Path(name) if is_own(name) else None, settings, dataset, named=tuple(classes or ()))

    @property
    def kind(self) -> str:
        """The end of the file's name in small letters; or folder; or saved, which built-in data count as."""
        if self.path is None or saved.is_saved(self.path):
            return "saved"
        return "folder" if self.path.is_dir() else self.path.suffix.lower()


def is_inside(root: Path, path: str) -> bool:
    """Whether a file lies below a folder, with all links followed."""
    return Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root))


def inside(root: Path, path: str) -> Path:
    """Where a file lies, if it is below a folder, with all links followed."""
    if not is_inside(root, path):
        raise InputError(f"{root / path} leads out of {root}, and is neither shown nor copied; move the file there")
    return Path(os.path.realpath(root / path))
