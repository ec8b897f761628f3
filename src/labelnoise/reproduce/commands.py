"""The commands that measure just the cells of a table that are measured."""

from collections.abc import Iterable, Sequence
from shlex import quote

from labelnoise.papers.paper import Cell
from labelnoise.reproduce.asked import KEYS, Table
from labelnoise.reproduce.groups import Recipe

Box = tuple[frozenset[str], ...]  # of each key some values; all combinations of them are meant


def commands(
    table: Table,
    recipe: Recipe,
    seeds: dict[Cell, int],
    out: str,
    everything: Sequence[Cell] = (),
    *,
    flags: Sequence[str] = (),
) -> list[str]:
    """For cells with so many runs each: as few commands as there are blocks of equal numbers.

    Of a figure, `everything` is what it draws; `flags` say how the device is used.
    """
    everything = everything or table.paper.cells(table.name)
    found = []
    for count in dict.fromkeys(seeds.values()):
        for box in boxes([cell for cell, runs in seeds.items() if runs == count]):
            words = ["labelnoise", "reproduce", str(table), *_only(box, everything), "--seeds", str(count)]
            kind, _, search = recipe.partition("-")
            words += [*(["--recipe", kind] if kind != "paper" else []), *(["--search"] if search else []), *flags]
            found.append(" ".join(map(quote, [*words, "--out", out])))
    return found


def boxes(cells: Iterable[Cell]) -> list[Box]:
    """Cells as blocks: those that differ in one key alone are put together, key after key."""
    found: list[Box] = [tuple(frozenset([getattr(cell, key)]) for key in KEYS) for cell in cells]
    for place in reversed(range(len(KEYS))):
        rows: dict[Box, frozenset[str]] = {}
        for box in found:
            rest = box[:place] + box[place + 1 :]
            rows[rest] = rows.get(rest, frozenset()) | box[place]
        found = [(*rest[:place], values, *rest[place:]) for rest, values in rows.items()]
    return found


def _only(box: Box, everything: Sequence[Cell]) -> list[str]:
    # a key is named where it leaves out cells that the keys before have not left out
    words, left = [], everything
    for key, values in zip(KEYS, box, strict=True):
        there = dict.fromkeys(getattr(cell, key) for cell in left)
        if set(there) != values:
            words += _wishes(key, [value for value in there if value in values])
        left = [cell for cell in left if getattr(cell, key) in values]
    return words


def _wishes(key: str, values: Sequence[str]) -> list[str]:
    if key == "method" and "," not in "".join(values):
        return ["--methods", ",".join(values)]
    return [word for value in values for word in ("--only", f"{key}={value}")]
