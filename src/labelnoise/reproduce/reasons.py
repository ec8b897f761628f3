"""Why measured cells are off, as far as anybody knows: sentences kept by hand, each with the cells it is for.

reasons:
  - {table: table1, data: mnist, noise: [random:0.2*, random:0.4*], method: Forward, reason: Their T is estimated late.}
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from labelnoise.configure import read_yaml
from labelnoise.errors import InputError
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.asked import KEYS

KNOWN = ("table", "recipe", *KEYS)


class Reason(NamedTuple):
    """A sentence, and by key the patterns of which a cell must have one."""

    sentence: str
    patterns: Mapping[str, list[str]]

    def fits(self, table: str, recipe: str, cell: Cell) -> bool:
        """Whether it is for this cell."""
        facts = {"table": table, "recipe": recipe, **cell._asdict()}
        return all(any(fnmatchcase(facts[key], each) for each in allowed) for key, allowed in self.patterns.items())


def read(path: Path) -> list[Reason]:
    """All reasons of a file; none where there is no file, or nothing in it yet."""
    return [_reason(entry, path) for entry in read_yaml(path).get("reasons") or ()] if path.exists() else []


def _reason(entry: Any, path: Path) -> Reason:
    if not isinstance(entry, dict) or not entry.get("reason") or set(entry) - {"reason", *KNOWN}:
        raise InputError(f"{path}: an entry has a `reason` and some of {', '.join(KNOWN)}; {entry} is none")
    patterns = {key: value if isinstance(value, list) else [value] for key, value in entry.items() if key != "reason"}
    return Reason(str(entry["reason"]), {key: [str(each) for each in values] for key, values in patterns.items()})
