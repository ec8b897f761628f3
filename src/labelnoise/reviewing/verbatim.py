"""Delimited text cell by cell, as it is written: what is not changed stays as it is, byte for byte."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from labelnoise.data.delimited import TOLD, find_delimiter
from labelnoise.reviewing.spreadsheet import BYTE_ORDER_MARK


class Record(NamedTuple):
    """One row of the file."""

    cells: list[str]  # as they are written, quotes and spaces included
    end: str  # of the line


class Verbatim(NamedTuple):
    """A file that a table was read from, as it is written."""

    delimiter: str
    mark: str  # before the header, with a line that names the delimiter
    text: str  # from there on

    @classmethod
    def read(cls, path: Path) -> "Verbatim":
        """A file that is known to be a table."""
        text = path.read_bytes().decode()
        mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        if told := TOLD.match(text, len(mark)):
            mark += told[0]
        return cls(find_delimiter(path), mark, text.removeprefix(mark))

    def records(self) -> Iterator[Record]:
        """Header, rows and empty lines, in order."""
        other = f"[^{re.escape(self.delimiter)}\r\n]*"
        cell = re.compile(f' *"[^"]*(?:""[^"]*)*"{other}|{other}')
        at, cells = 0, list[str]()
        while at < len(self.text):
            found = cell.match(self.text, at)
            assert found is not None  # for it may be empty
            cells.append(found[0])
            end = self.text[found.end() : found.end() + 2]
            if end.startswith(self.delimiter):
                at = found.end() + 1
                if at < len(self.text):
                    continue
                cells.append("")
                end = ""
            else:
                end = end if end == "\r\n" else end[:1]
                at = found.end() + len(end)
            yield Record(cells, end)
            cells = []

    def written(self, name: str, like: str = "") -> str:
        """A text as a cell, quoted if it must be or if another in whose place it comes is."""
        space = like[: len(like) - len(like.lstrip(" "))]
        special = {self.delimiter, '"', "\n", "\r"} & set(name) or name != name.strip()
        if like.lstrip(" ").startswith('"') or special or name == "":
            doubled = name.replace('"', '""')
            return f'{space}"{doubled}"'
        return space + name


def is_blank(cells: Sequence[str]) -> bool:
    """Whether a line holds no row."""
    return len(cells) == 1 and not cells[0].strip()


def value(cell: str) -> str:
    """What a cell says."""
    text = cell.lstrip(" ")
    if not text.startswith('"'):
        return text
    quoted, _, rest = text[1:].replace('""', "\0").partition('"')  # a table holds no NUL
    return quoted.replace("\0", '"') + rest
