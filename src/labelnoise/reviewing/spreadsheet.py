"""Tables that people open in a spreadsheet: no cell of them runs there, and all come back as they went."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from labelnoise.data.delimited import TOLD
from labelnoise.errors import InputError
from labelnoise.files import write

DELIMITERS = ",;\t"
ENDANGERED = re.compile(r"'*[=+\-@\t\r]")  # a spreadsheet would run such a text; apostrophes are counted, see `plain`
BYTE_ORDER_MARK = "\ufeff"  # tells a spreadsheet that the text is UTF-8


def guarded(text: str) -> str:
    """A text that a spreadsheet shows and does not run: with an apostrophe before what begins a formula."""
    return f"'{text}" if ENDANGERED.match(text) else text


def plain(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if text.startswith("'") and ENDANGERED.match(text) else text


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> None:
    """Write a CSV file for people: texts are guarded, numbers stay numbers."""
    cells = ([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in chain([header], rows))
    _write(path, cells, BYTE_ORDER_MARK)


def write_data(path: Path, header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> None:
    """Write a CSV file for programs: names that were read as data stay as they are, for readers refuse formulas."""
    _write(path, chain([header], rows), "")


def read_table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells by column of every row, as a spreadsheet or this file wrote them."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        text = _decoded(path.read_bytes())
    except OSError as problem:
        raise InputError(f"{path} cannot be read ({problem.strerror}); change its permissions") from None
    told = TOLD.match(text)
    delimiter = told[1] if told else max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        if told:
            next(reader)
        yield from _rows(path, reader)
    except csv.Error as problem:
        raise InputError(f"{path}, line {reader.line_num}: {problem}; mend the line") from None


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # what spreadsheets call Unicode text
        return data.decode("utf-16", "replace")
    return data.removeprefix(BYTE_ORDER_MARK.encode()).decode("utf-8", "surrogateescape")


def _rows(path: Path, reader: Any) -> Iterator[tuple[int, dict[str, str]]]:
    header = [plain(name.strip()) for name in next(reader, [])]
    start = reader.line_num + 1
    for cells in reader:
        line, start = start, reader.line_num + 1
        if not any(map(str.strip, cells)):
            continue
        if len(cells) > len(header):
            raise InputError(
                f"{path}, line {line}: {len(cells)} fields, but the header has {len(header)}; mend the line"
            )
        padded = [*map(plain, cells), *[""] * (len(header) - len(cells))]
        yield line, dict(zip(header, padded, strict=True))


def _write(path: Path, rows: Iterable[Sequence[str | float]], mark: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    write(path, (mark + text.getvalue()).encode("utf-8", "surrogateescape"))  # a file name may hold any bytes
