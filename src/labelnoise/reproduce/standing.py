"""How every published cell stands: measured, and with which outcome; left to measure; or not to be run here."""

from collections.abc import Sequence
from typing import NamedTuple

from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.errors import InputError
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.committed import VERDICTS, Committed
from labelnoise.reproduce.groups import Recipe
from labelnoise.reproduce.stale import expected

LEFT, ON_REQUEST, IMPOSSIBLE = "left", "data on request", "not runnable"
STANDINGS = (*VERDICTS, LEFT, ON_REQUEST, IMPOSSIBLE)  # of which a cell has one


class Standing(NamedTuple):
    """That of a cell."""

    cell: Cell
    name: str  # one of STANDINGS
    why: str = ""  # it cannot be run here


def standings(table: Table, recipe: Recipe, found: Sequence[Committed]) -> list[Standing]:
    """Of all cells of a table, by what is committed of it."""
    own = [each for each in found if (str(each.table), each.recipe) == (str(table), recipe)]
    verdicts = {cell.cell: cell.verdict for each in own for cell in each.cells}
    return [
        Standing(cell, verdicts[cell]) if cell in verdicts else _unmeasured(table, cell, recipe)
        for cell in table.paper.published(table.name)
    ]


def _unmeasured(table: Table, cell: Cell, recipe: Recipe) -> Standing:
    try:
        expected(table.paper, cell, recipe)
    except InputError as problem:  # no such data, noise, method, network or setting in the package
        return Standing(cell, IMPOSSIBLE, str(problem))
    card = CARDS.get(cell.data.partition(":")[0])
    return Standing(cell, ON_REQUEST, _access(card)) if card and card.on_request else Standing(cell, LEFT)


def _access(card: Card) -> str:
    return f"{card.title}: {card.licence} ({card.url})"
