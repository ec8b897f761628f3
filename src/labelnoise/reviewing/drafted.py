"""Several files that come into a folder together, once all of them are written."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelnoise.files import explained


@contextmanager
def drafted(out: Path) -> Iterator[Path]:
    """A folder to write to; what is in it comes into `out` at the end. Where something fails, no trace is left."""
    made = [folder for folder in (out, *out.parents) if not folder.exists()]  # the deepest first
    draft, old = (out / f".{secrets.token_hex(8)}.draft" for _ in range(2))
    with explained(out):
        try:
            draft.mkdir(parents=True)
            yield draft
            old.mkdir()
            for path in sorted(draft.iterdir()):
                put(path, out / path.name, old / path.name)
        finally:
            for folder in (draft, old):
                shutil.rmtree(folder, ignore_errors=True)
            for folder in made:
                with suppress(OSError):  # it holds what was written
                    folder.rmdir()


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
