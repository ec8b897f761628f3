"""What of a paper is asked for: a table or a figure, and which of its cells."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labelnoise.errors import InputError
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import Cell, Paper, paper
from labelnoise.registry import nearest

KEYS = ("data", "noise", "method", "net", "measure")  # by which cells are chosen


class Table(NamedTuple):
    """A table or a figure of a paper."""

    paper: Paper
    name: str

    def __str__(self) -> str:
        return f"{self.paper.folder.name}/{self.name}"


def table(text: str) -> Table:
    """That of a name such as logistic_normal/table1 or logistic_normal/fig3."""
    name, _, wanted = text.partition("/")
    source = paper(name)
    known = [*source.tables, *figures(source)]
    if wanted not in known:
        wrong = f"paper {name!r} has no {wanted!r}" if wanted else f"{name!r} is a paper; name a table or figure of it"
        raise InputError(f"{wrong}; it has {', '.join(known)}, as in {name}/{known[0]}")
    return Table(source, wanted)


def listed(methods: str) -> list[str]:
    """Each of several methods, with commas between them, as the wish `method=…`."""
    names = [each.strip() for each in methods.split(",") if each.strip()]
    if not names:
        raise InputError(f"--methods names none in {methods!r}; name some, as in CE,LN, or leave it out for all")
    return [f"method={name}" for name in names]


def parsed(wishes: Sequence[str]) -> dict[str, list[str]]:
    """`key=value` by key; values of the same key are alternatives."""
    found: dict[str, list[str]] = {}
    for wish in wishes:
        key, equals, value = wish.partition("=")
        if not equals or key not in KEYS:
            raise InputError(f"--only takes {', '.join(KEYS)}, as in data=mnist; not {wish!r}")
        found.setdefault(key, []).append(value)
    return found


def chosen(cells: Sequence[Cell], only: Mapping[str, Sequence[str]]) -> list[Cell]:
    """The cells that have one of the values for each key."""
    for key, values in only.items():
        known = list(dict.fromkeys(getattr(cell, key) for cell in cells))
        for value in values:
            if value not in known:
                raise InputError(f"no cell has {key} {value!r}; {_instead(key, value, known)}")
    found = _having(cells, only)
    for key, values in only.items():
        there = {getattr(cell, key) for cell in found}
        for value in values:
            if value not in there:
                raise InputError(f"no cell with {key} {value!r} has the rest; {_loosened(cells, only, key, value)}")
    return found


def _having(cells: Sequence[Cell], only: Mapping[str, Sequence[str]]) -> list[Cell]:
    return [cell for cell in cells if all(getattr(cell, key) in values for key, values in only.items())]


def _loosened(cells: Sequence[Cell], only: Mapping[str, Sequence[str]], kept: str, value: str) -> str:
    # what each of the other keys may be instead
    for key in (each for each in reversed(list(only)) if each != kept):
        rest = {name: values for name, values in only.items() if name != key} | {kept: [value]}
        if known := sorted({getattr(cell, key) for cell in _having(cells, rest)}):
            return f"with it {key} may be {', '.join(known)}"
    return "ask for it by a command of its own"


def _instead(key: str, value: str, known: Sequence[str]) -> str:
    with_comma = sorted((name for name in known if "," in name), key=lambda name: (value not in name, name))
    if not with_comma:
        return nearest(value, known)
    names = ", ".join(map(repr, sorted(known)))
    return f'known are {names}; one with a comma is asked for by --only "{key}={with_comma[0]}"'
