"""Pages of HTML from their templates, and the pieces with which these are filled."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from labelnoise.report.canvas import colour, dashes

HERE = Path(__file__).parent
UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # a name may hold what HTML must not


class Panel(NamedTuple):
    """A drawing with the words under it."""

    svg: str
    caption: str


class Key(NamedTuple):
    """How a curve looks."""

    label: str
    colour: str
    dashes: str


class Drawing(NamedTuple):
    """Panels that belong together, and how to read them."""

    panels: Sequence[Panel]
    told: str  # a sentence
    legend: Sequence[Key] = ()
    columns: int = 2


def legend(labels: Sequence[str], dashed: Sequence[tuple[float, ...]] = ()) -> list[Key]:
    """The looks of curves in the order in which they are drawn, dashed by their place unless it is told how."""
    each = dashed or [dashes(index) for index in range(len(labels))]
    return [Key(label, colour(n), " ".join(map(str, each[n]))) for n, label in enumerate(labels)]


def fill(name: str, title: str, *, folder: Path = HERE, **values: Any) -> str:
    """The whole page of a template; whatever the values hold, it is readable text and no markup.

    A template of another folder may build on those that lie here.
    """
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader([folder, HERE]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template(name).render(title=title, **values)
    readable = UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", html)
    return readable.encode("utf-8", "replace").decode()  # a name may hold half a character
