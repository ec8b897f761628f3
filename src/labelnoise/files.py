"""Writing files whole: whoever reads sees the old content or the new, also after a crash, a kill or a full disk."""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from labelnoise.errors import InputError

FULL = {errno.ENOSPC, errno.EDQUOT}
Content = str | bytes | Callable[[BinaryIO], None]  # a function fills the open file, piece by piece


class FullDiskError(InputError):
    """There is no space left to write to."""


def write(path: Path, content: Content) -> None:
    """Replace a file in one move; it is on the disk when this returns."""
    with explained(path):
        place = Path(os.path.realpath(path))  # a link stays a link
        if place.exists() and not place.is_file():
            raise InputError(f"cannot write {path} (it is no ordinary file); choose another place")
        draft = place.with_name(f".{secrets.token_hex(8)}.draft")  # a new name, so that two writers never meet
        try:
            _fill(draft, content)
            draft.replace(place)
            _settle(place.parent)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns what the system says while a file is written into a sentence."""
    try:
        yield
    except OSError as problem:
        if isinstance(problem, FileNotFoundError) and not path.parent.is_dir():
            raise InputError(f"there is no folder {path.parent}; make it first") from None
        kind, advice = (FullDiskError, "free space") if problem.errno in FULL else (InputError, "mend that")
        raise kind(
            f"cannot write {path} ({problem.strerror or problem}); {advice} and type the command again"
        ) from None


def discard_drafts(folder: Path) -> None:
    """Remove files that a killed process left half written, in a folder that nobody else writes to."""
    for leftover in folder.glob("*.draft"):
        if not leftover.is_dir():
            leftover.unlink(missing_ok=True)


def _fill(draft: Path, content: Content) -> None:
    with draft.open("xb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    # The new name is on the disk only once its folder is.
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
