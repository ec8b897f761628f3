"""Where official files lie: a folder, a .tar, .tar.gz, .tgz or .zip archive, or a single file.

An archive is read in memory, never extracted; one that would write outside its folder is refused as a whole.
"""

import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Self

from labelnoise.errors import InputError

MOST_MEMBERS = 100_000
MOST_UNPACKED = 2**29  # bytes of a compressed tar archive, which is kept in memory
PLAIN_MODES = (0, stat.S_IFREG, stat.S_IFDIR)  # of a member of a zip archive
NOTHING_KNOWN: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """Official files, found by their names and read with a bound on their size."""

    path: Path
    members: tuple[str, ...]  # paths in the folder or archive
    opened: Callable[[str], AbstractContextManager[IO[bytes]]]  # by member

    @classmethod
    def open(cls, path: Path) -> Self:
        """List what is at a path, and refuse a damaged or hostile archive."""
        if path.is_dir():
            return cls(path, _files_below(path), lambda member: (path / member).open("rb"))
        if not path.is_file():
            raise InputError(f"there is no file or folder {str(path)!r}; name what you downloaded")
        with _readable(str(path)):
            if path.name.lower().endswith(".zip"):
                return cls(path, _zip_members(path), partial(_open_in_zip, path))
            if path.name.lower().endswith((".tar", ".tar.gz", ".tgz")):
                unpacked = _unpacked(path)
                return cls(path, _tar_members(path, unpacked), partial(_open_in_tar, path, unpacked))
        return cls(path, (path.name,), lambda _: path.open("rb"))

    def find(self, *names: str) -> str | None:
        """The member that has the first of these names, in whatever folder it lies."""
        for name in names:
            found = [member for member in self.members if member.rpartition("/")[2] == name]
            if len(found) > 1 and len({self._fingerprint(member) for member in found}) > 1:
                raise InputError(
                    f"{self.path} holds several files {name!r}: {', '.join(found)}; name the folder of one"
                )
            if found:
                return found[0]
        return None

    def require(self, *names: str) -> str:
        """The member that has the first of these names, which must be there."""
        if member := self.find(*names):
            return member
        raise InputError(f"{self.path} holds no file {names[0]!r}; name the folder or archive with all official files")

    def origin(self, member: str) -> str:
        """A member as messages call it."""
        if self.path.is_dir():
            return str(self.path / member)
        return str(self.path) if member == self.path.name else f"{self.path}: {member}"

    def read(self, member: str, *, most: int) -> bytes:
        """The content of a member, of a .gz file decompressed; more than `most` bytes are refused."""
        origin = self.origin(member)
        with _readable(origin), self.opened(member) as file:
            content = _gunzipped(file, most) if member.endswith(".gz") else file.read(most + 1)
        if len(content) > most:
            raise InputError(f"{origin} is larger than the official file; download it again")
        return content

    def checked(self, member: str, digest: str, *, most: int, known: Mapping[str, str] = NOTHING_KNOWN) -> bytes:
        """The content of a member that has this digest, `md5:…` or `sha256:…`; `known` names other files by digest."""
        content = self.read(member, most=most)
        check_digest(content, self.origin(member), digest, known)
        return content

    def _fingerprint(self, member: str) -> str:
        return hashlib.sha256(self.read(member, most=MOST_UNPACKED)).hexdigest()


def check_digest(content: bytes, origin: str, digest: str, known: Mapping[str, str] = NOTHING_KNOWN) -> None:
    """Raise where a content has another digest; `known` names other files by theirs."""
    kind, _, expected = digest.partition(":")
    found = hashlib.new(kind, content, usedforsecurity=False).hexdigest()
    if found == expected:
        return
    if other := known.get(f"{kind}:{found}"):
        raise InputError(f"{origin} is really {other}; put the right file in its place")
    raise InputError(f"{origin} has the {kind} {found}, the official file has {expected}; download it again")


@contextmanager
def _readable(origin: str) -> Iterator[None]:
    # whatever tarfile, zipfile, gzip and the system say of a bad file, as a sentence
    try:
        yield
    except InputError:
        raise
    except OSError as problem:
        if problem.strerror:
            raise InputError(f"cannot read {origin} ({problem.strerror}); mend that") from None
        raise InputError(f"{origin} is damaged or cut short; download it again") from None
    except Exception:
        raise InputError(f"{origin} is damaged or cut short; download it again") from None


def _gunzipped(file: IO[bytes], most: int) -> bytes:
    # one byte more than allowed, where there are more, shows that there are too many
    with gzip.GzipFile(fileobj=file) as unpacked:
        return unpacked.read(most + 1)


def _files_below(path: Path) -> tuple[str, ...]:
    # links are the user's own and followed, but no folder is entered twice
    entered = {os.path.realpath(path)}
    found: list[str] = []
    for folder, inner, names in os.walk(path, followlinks=True):
        inner[:] = sorted(name for name in inner if os.path.realpath(os.path.join(folder, name)) not in entered)
        entered.update(os.path.realpath(os.path.join(folder, name)) for name in inner)
        files = (Path(folder, name) for name in sorted(names))
        found += [file.relative_to(path).as_posix() for file in files if file.is_file()]
        _check_number(path, len(found))
    return tuple(found)


def _check_number(path: Path, count: int) -> None:
    if count > MOST_MEMBERS:
        raise InputError(f"{path} holds more than {MOST_MEMBERS:,} files; name the folder of the official files alone")


def _unpacked(path: Path) -> bytes | None:
    # of a compressed tar archive the content; one that is not compressed stays where it is
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return None
        file.seek(0)
        content = _gunzipped(file, MOST_UNPACKED)
    if len(content) > MOST_UNPACKED:
        raise InputError(f"{path} unpacks to more than {MOST_UNPACKED:,} bytes; it is no official archive")
    return content


def _tar(path: Path, unpacked: bytes | None) -> tarfile.TarFile:
    return tarfile.open(path, "r:") if unpacked is None else tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:")


def _tar_members(path: Path, unpacked: bytes | None) -> tuple[str, ...]:
    names: list[str] = []
    with _tar(path, unpacked) as archive:
        for member in islice(archive, MOST_MEMBERS + 1):
            if member.size < 0:  # the list would be endless
                raise tarfile.ReadError
            _check_member(path, member.name, plain=member.isfile() or member.isdir())
            names += [member.name] if member.isfile() else []
    return _listed(path, names)


@contextmanager
def _open_in_tar(path: Path, unpacked: bytes | None, member: str) -> Iterator[IO[bytes]]:
    with _tar(path, unpacked) as archive:
        file = archive.extractfile(member)
        if file is None:
            raise tarfile.ReadError
        with file:
            yield file


def _zip_members(path: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members:
        _check_member(path, member.orig_filename, plain=stat.S_IFMT(member.external_attr >> 16) in PLAIN_MODES)
    return _listed(path, [member.filename for member in members if not member.is_dir()])


@contextmanager
def _open_in_zip(path: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        yield file


def _check_member(path: Path, name: str, *, plain: bool) -> None:
    advice = "it is no official archive, and nothing of it was read; download it again"
    if not plain:
        raise InputError(f"{path} holds {name!r}, a link or device that may lead outside its folder; {advice}")
    if re.match(r"/|[A-Za-z]:", name) or ".." in name.split("/") or "\\" in name or "\0" in name:
        raise InputError(f"{path} holds {name!r}, which writes outside its folder; {advice}")


def _listed(path: Path, names: list[str]) -> tuple[str, ...]:
    _check_number(path, len(names))
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise InputError(f"{path} holds {name!r} {count} times; download it again")
    return tuple(names)
