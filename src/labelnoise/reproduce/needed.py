"""Which data sets a table needs that are not here, told before anything is trained."""

from collections.abc import Iterable

from labelnoise.data.standard.cache import data_root, lacking
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.papers.paper import Cell


def missing(cells: Iterable[Cell]) -> str:
    """A sentence on the data sets that cells need and the data root lacks, and how to get them; nothing if it has all.

    Many tables have several, the last of which would be asked for after hours.
    """
    names = dict.fromkeys(cell.data.partition(":")[0] for cell in cells)
    found = dict.fromkeys(card.name for name in names if name in CARDS and (card := lacking(CARDS[name])))
    if not found:
        return ""
    ways = " and ".join(f"`labelnoise data info {name}`" for name in found)
    return f"{', '.join(found)}: not in the data root {data_root()}; how to get the data is told by {ways}"
