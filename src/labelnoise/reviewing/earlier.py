"""Cleaned data of an earlier audit, which would lie in another form beside those of a new one."""

import json
from pathlib import Path

from labelnoise.data.table import SUFFIXES
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.reviewing.clean_folder import check_own
from labelnoise.reviewing.cleaned import check_place, default_name
from labelnoise.reviewing.shown import listed
from labelnoise.reviewing.source import Source, is_inside

SEAL = ".audit.json"  # in the folder of an audit: the files that it has written there, and when they changed
NAMES = ("cleaned", *(f"cleaned{end}" for end in (*SUFFIXES, ".npz", ".json")))


def seal(folder: Path) -> None:
    """Note the files of an audit: such as are still the same later may go."""
    files = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
    write(folder / SEAL, json.dumps({"files": files}))


def earlier(source: Source, mode: str, out: Path, *, force: bool) -> list[Path]:
    """What goes when an audit comes into a folder; raises where people, or the data, would lose something by it."""
    name = default_name(source, mode)
    own = {name, *(["cleaned.json"] if source.kind == "saved" and name == "cleaned.npz" else [])}
    found = [out / each for each in NAMES if each not in own and (out / each).exists()]
    for path in found:
        check_place(source, path, force=force)
        if path.is_dir():
            check_own(path)
            _check_no_images(source, path)
        elif path.stat().st_mtime_ns != _written(out).get(path.name):
            raise InputError(
                f"{path} is not as an audit has written it, and would lie beside {out / name}; "
                "move it elsewhere, or choose another --out"
            )
    return found


def _check_no_images(source: Source, folder: Path) -> None:
    if any(is_inside(folder, path) for _, path in listed(source)):
        raise InputError(f"{folder} holds images of the data, which stay as they are; choose another --out")


def _written(out: Path) -> dict[str, int]:
    try:
        return dict(json.loads((out / SEAL).read_text("utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):  # no seal, or one that is damaged
        return {}
