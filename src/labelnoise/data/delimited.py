"""Delimited text, .csv and .tsv: one table from one file, and a line number for whatever is wrong with it."""

import csv
import re
from collections import deque
from collections.abc import Collection, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from labelnoise.data.factor import Origin
from labelnoise.errors import InputError

DELIMITERS = ",;\t|"
TOLD = re.compile(r"""["']?sep=(\t|[^\w\s"'])["']?(?:\r\n|\r|\n)""", re.IGNORECASE)  # a line before the header
ENCODING = "utf-8-sig"
CHUNK = 1 << 24
UNNAMED = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "<NA>")  # None may be a class
MISSING = (*UNNAMED, "None", "n/a", "#NA", "-nan", "-NaN")


def read_csv(path: Path, names: Collection[str] = (), texts: Collection[str] = ()) -> tuple[Any, Origin]:
    """The table in a file and where its rows lie; cells of names (labels, ids) and texts stay as they are written."""
    pandas: Any = import_module("pandas")
    try:
        _check_nul(path)
        delimiter = find_delimiter(path)
        header = _header(path, delimiter)
        columns = {field: " ".join(field.splitlines()).strip() for field in header}
        keep = {field: str for field, column in columns.items() if column in (*names, *texts)}
        missing = {field: list(UNNAMED if column in names else MISSING) for field, column in columns.items()}
        frame = pandas.read_csv(
            path,
            sep=delimiter,
            encoding=ENCODING,
            dtype=keep,
            keep_default_na=False,
            na_values=missing,
            index_col=False,
            skipinitialspace=True,
            skiprows=1 if _told(path) else 0,
            low_memory=False,  # else a column may have another type in each chunk
        )
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {_undecodable(path)}: not UTF-8 text; save the file as UTF-8") from None
    except pandas.errors.ParserError as error:
        raise InputError(_explained(path, delimiter, len(header), str(error))) from None
    if frame.iloc[:, -1].isna().any() and (ragged := _ragged(path, delimiter, len(header))):
        raise InputError(ragged)  # fields that are not there read as missing values
    frame.columns = [columns[field] for field in header]
    return frame, Origin(str(path), partial(_line, path, delimiter))


def find_delimiter(path: Path) -> str:
    """The sign that a first line such as `sep=;` names; else that which cuts the header into the most fields."""
    if told := _told(path):
        return told
    with path.open(encoding=ENCODING, newline="") as file:
        line = next((line for line in file if line.strip()), "")[: csv.field_size_limit()]
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader([line], delimiter=delimiter), "")))


def _told(path: Path) -> str:
    with path.open(encoding=ENCODING, newline="") as file:
        found = TOLD.match(file.readline(csv.field_size_limit()))
    return found[1] if found else ""


def _check_nul(path: Path) -> None:
    line = 1
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if (at := chunk.find(b"\0")) >= 0:
                line += chunk.count(b"\n", 0, at)
                raise InputError(f"{path}, line {line}: a NUL byte, so no UTF-8 text; save the file as UTF-8")
            line += chunk.count(b"\n")


def _header(path: Path, delimiter: str) -> list[str]:
    records = _records(path, delimiter)
    _, header = next(records, (0, []))
    line, first = next(records, (0, []))
    if not header:
        raise InputError(f"{path} is empty; it needs a header and a row for each example")
    if not first:
        raise InputError(f"{path} has a header but no rows")
    if len(first) > len(header):  # pandas would cut it off
        raise InputError(_fields(path, line, len(first), len(header)))
    return header


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    # line of its beginning and fields, of every record that is not blank
    with path.open(encoding=ENCODING, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        if _told(path):
            next(reader)
        line = reader.line_num + 1
        try:
            for fields in reader:
                if len(fields) > 1 or "".join(fields).strip():
                    yield line, fields
                line = reader.line_num + 1
        except csv.Error:
            most = csv.field_size_limit()
            raise InputError(f"{path}, line {line}: a field of more than {most} characters; shorten it") from None


def _line(path: Path, delimiter: str, row: int) -> str:
    for number, (line, _) in enumerate(_records(path, delimiter), -1):
        if number == row:
            return f"line {line}"
    return f"row {row}"


def _undecodable(path: Path) -> int:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _ragged(path: Path, delimiter: str, width: int) -> str:
    records = ((line, len(fields)) for line, fields in _records(path, delimiter))
    return next((_fields(path, line, fields, width) for line, fields in records if fields != width), "")


def _fields(path: Path, line: int, fields: int, width: int) -> str:
    return f"{path}, line {line}: {fields} fields, but the header has {width}; quote fields that hold the delimiter"


def _explained(path: Path, delimiter: str, width: int, error: str) -> str:
    if "EOF inside string" in error:
        ((line, _),) = deque(_records(path, delimiter), maxlen=1)
        return f"{path}, line {line}: a quote is opened and never closed"
    return _ragged(path, delimiter, width) or f"{path} cannot be read as a table: {error.strip()}"
