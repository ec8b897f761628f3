"""Several files that come into a folder together, once all of them are written."""

import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from labelnoise.files import explained

LEFT = f".{'[0-9a-f]' * 16}.draft"  # what `apart` calls its folders
LOCK = "lock"  # in each of them, held by the process that writes there for as long as it lives


@contextmanager
def drafted(out: Path, *, gone: Iterable[Path] = ()) -> Iterator[Path]:
    """A folder to write to; what is in it comes into `out` at the end, and from there goes what is `gone`.

    Where something fails, no trace is left.
    """
    made = [folder for folder in (out, *out.parents) if not folder.exists()]  # the deepest first
    with explained(out):
        try:
            out.mkdir(parents=True, exist_ok=True)
            with apart(out) as (draft, old):
                yield draft
                for path in sorted(draft.iterdir()):
                    put(path, out / path.name, old / path.name)
                for path in gone:
                    path.rename(old / path.name)
        finally:
            for folder in made:
                with suppress(OSError):  # it holds what was written
                    folder.rmdir()


@contextmanager
def apart(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Two folders inside another one, for what is written and what it replaces; none is left, nor those of the dead."""
    for leftover in folder.glob(LEFT):
        _discard(leftover)
    own = folder / f".{secrets.token_hex(8)}.draft"
    draft, old = own / "draft", own / "old"
    try:
        own.mkdir()
        with FileLock(own / LOCK):
            draft.mkdir()
            old.mkdir()
            yield draft, old
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _discard(leftover: Path) -> None:
    # The system takes the lock back when a process ends, however it ends; while it lives, nobody else gets it.
    with suppress(OSError), FileLock(leftover / LOCK, blocking=False):
        shutil.rmtree(leftover)


def put(path: Path, place: Path, aside: Path) -> None:
    """Give a file or folder another name; a folder that is there is laid aside, and comes back where that fails."""
    try:
        if place.is_dir():
            place.rename(aside)
        path.replace(place)
    except BaseException:
        if aside.exists() and not place.exists():
            aside.rename(place)
        raise


def check_writable(out: Path) -> None:
    """Raise where a folder cannot be made or written to; nothing is left of the attempt."""
    with drafted(out):
        pass
