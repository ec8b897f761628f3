"""Where audited data come from: the file or folder, how it was read, and the data set that it gave."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from labelnoise.config import Data
from labelnoise.data import saved
from labelnoise.data.dataset import Dataset
from labelnoise.data.own import is_own
from labelnoise.errors import InputError


class Source(NamedTuple):
    """Data as they were asked for and as they were read."""

    path: Path | None  # None: built in
    settings: Data
    dataset: Dataset

    @classmethod
    def named(cls, name: str, options: dict[str, Any], dataset: Dataset) -> "Source":
        """Data by name or path, with the options that say how a file is read."""
        given = {option: value for option, value in options.items() if value is not None}
        return cls(Path(name) if is_own(name) else None, Data(name, **given), dataset)

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
