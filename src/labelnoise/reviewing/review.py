"""What people look at: the suspicious rows of an audit in order, and the tables that hold them or all rows."""

import hashlib
import math
from pathlib import Path
from typing import Any

from labelnoise.auditing.result import Audit
from labelnoise.data.dataset import Dataset
from labelnoise.reviewing.spreadsheet import write_table

LEAST = 0.1  # probability of being wrong from which a row is worth a look
FEWEST, MOST = 50, 2000  # rows to look at, whatever their probability; more only where they are asked for
SHOWN = ["given", "suggested", "wrong_probability", "reason"]


def identity(audit: Audit, dataset: Dataset) -> str:
    """A text that tells an audit from others by what is to be reviewed; it begins with the fingerprint of the data."""
    table = suspicious(audit)[SHOWN].to_csv(float_format="%.6g")
    return f"{dataset.fingerprint}-{hashlib.sha256(table.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def labelled(audit: Audit) -> Any:
    """The rows of the table of issues that have a label, which can be wrong."""
    given = audit.issues["given"]
    return audit.issues[given.notna() & (given != "")]


def suspicious(audit: Audit, most: int = MOST) -> Any:
    """The rows of the table of issues that are worth a look, the most suspicious first; another class is suggested."""
    ordered = labelled(audit).sort_values("wrong_probability", ascending=False, kind="stable")
    worth = int((ordered["wrong_probability"] >= LEAST).sum())
    first = ordered.head(min(max(worth, FEWEST), most))
    return first.assign(suggested=first["alternative"])


def write_issues(audit: Audit, name: str, path: Path) -> None:
    """All rows with all that is known of each."""
    columns = list(audit.issues.columns)
    cells = (audit.issues[column].tolist() for column in columns)
    rows = zip(map(str, audit.issues.index), *map(_written, cells), strict=True)
    write_table(path, ["id", *columns, "audit"], ([*row, name] for row in rows))


def write_review(audit: Audit, name: str, path: Path, most: int = MOST) -> None:
    """The suspicious rows, with empty cells for what a person decides."""
    rows = suspicious(audit, most)
    cells = (_written(rows[column].tolist()) for column in SHOWN)
    table = zip(map(str, rows.index), *cells, strict=True)
    write_table(path, ["id", *SHOWN, "corrected", "decision", "audit"], ([*row, "", "", name] for row in table))


def _written(cells: list[Any]) -> list[str | float]:
    return [_cell(cell) for cell in cells]


def _cell(cell: Any) -> str | float:
    if isinstance(cell, bool | int):
        return int(cell)
    if isinstance(cell, float):
        return "" if math.isnan(cell) else float(f"{cell:.6g}")
    return "" if cell is None else str(cell)
