"""The data root: of every standard data set one uncompressed .npz file, checked when written and when read."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from labelnoise import __version__
from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.errors import InputError
from labelnoise.files import explained, write

FORMAT = 1  # of the files; a change of what is in them is a new number
ABOUT = "about.json"
PIECE = 2**20  # bytes read at once


class Held(NamedTuple):
    """What a file of the data root holds."""

    facts: Mapping[str, Any]  # as they were saved
    arrays: Mapping[str, NDArray[Any]]  # those that were asked for


class _RefusedError(Exception):
    """Why a file is not read."""


def data_root() -> Path:
    """The folder of the standard data sets: LABELNOISE_DATA, or else `labelnoise` in the user's cache folder."""
    if given := os.environ.get("LABELNOISE_DATA"):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "labelnoise"


def path_of(card: Card) -> Path:
    """Where a data set lies, or would lie, in the data root."""
    return data_root() / f"{card.name}.npz"


def lacking(card: Card) -> Card | None:
    """Of a data set, or the one whose images it needs, the first that is not in the data root; None: it is ready."""
    needed = [card, *([CARDS[card.images_of]] if card.images_of else [])]
    return next((each for each in needed if not path_of(each).is_file()), None)


def name_in(path: Path) -> str:
    """The name of the data set in a file of a data root; nothing where it is none."""
    try:
        with ZipFile(path) as archive:
            return str(json.loads(archive.read(ABOUT))["name"])
    except Exception:  # any other file
        return ""


def save(card: Card, arrays: Mapping[str, Sequence[NDArray[Any]]], facts: Mapping[str, Any]) -> Path:
    """Write a data set into the data root; the pieces of an array are laid one after the other, never copied."""
    path = path_of(card)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)

    def fill(file: BinaryIO) -> None:
        with ZipFile(file, "w") as archive:
            digests = {name: _store(archive, f"{name}.npy", pieces) for name, pieces in arrays.items()}
            about = {"format": FORMAT, "name": card.name, "labelnoise": __version__, "sha256": digests, "facts": facts}
            archive.writestr(ZipInfo(ABOUT), json.dumps(about, indent=1))

    write(path, fill)
    return path


def load(card: Card, *names: str) -> Held:
    """Some arrays of a data set in the data root, or a sentence on how to get it there."""
    path = path_of(card)
    if not path.is_file():
        raise InputError(f"{card.name} is not in the data root {path.parent}; {card.to_get}")
    try:
        with ZipFile(path) as archive:
            about = _about(archive, card)
            arrays = {name: _restore(archive, f"{name}.npy", about["sha256"][name]) for name in names}
            return Held(about["facts"], arrays)
    except _RefusedError as reason:
        found = str(reason)
    except PermissionError:
        raise InputError(f"{path} may not be read; change its permissions") from None
    except Exception:  # a damaged file may make zipfile and numpy raise anything
        found = "is damaged"
    raise InputError(f"{path} {found}; make it again with `labelnoise data convert {card.name} PATH --force`")


def _store(archive: ZipFile, name: str, pieces: Sequence[NDArray[Any]]) -> str:
    # the SHA-256 of the array's bytes
    kind, rows = np.result_type(*pieces), sum(map(len, pieces))
    header = {"descr": npy.dtype_to_descr(kind), "fortran_order": False, "shape": (rows, *pieces[0].shape[1:])}
    digest = hashlib.sha256()
    with archive.open(ZipInfo(name), "w", force_zip64=True) as member:
        npy.write_array_header_1_0(member, header)
        for piece in pieces:
            content = np.ascontiguousarray(piece, kind).reshape(-1).view(np.uint8).data
            digest.update(content)
            member.write(content)
    return digest.hexdigest()


def _about(archive: ZipFile, card: Card) -> dict[str, Any]:
    if ABOUT not in archive.namelist():
        raise _RefusedError("was not written by labelnoise")
    about: dict[str, Any] = json.loads(archive.read(ABOUT))
    if about["name"] != card.name:
        raise _RefusedError(f"holds {about['name']}")
    if about["format"] != FORMAT:
        raise _RefusedError(f"has the format of labelnoise {about['labelnoise']}, not of {__version__}")
    return about


def _restore(archive: ZipFile, name: str, digest: str) -> NDArray[Any]:
    # in large pieces, four times as fast as np.load
    with archive.open(name) as member:
        kind, shape = _header(member)
        content = np.empty(archive.getinfo(name).file_size - member.tell(), np.uint8)
        for start in range(0, len(content), PIECE):
            piece = member.read(min(PIECE, len(content) - start))
            content[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
    if hashlib.sha256(content.data).hexdigest() != digest:
        raise _RefusedError("is damaged")
    return content.view(kind).reshape(shape)


def _header(member: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if npy.read_magic(member) != (1, 0):
        raise _RefusedError("is damaged")
    shape, _, kind = npy.read_array_header_1_0(member)
    if kind.hasobject:
        raise _RefusedError("holds Python objects")
    return kind, shape
