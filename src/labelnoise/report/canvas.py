"""What every figure is drawn on: a sheet in the colours and the font of the page, which takes it in as SVG."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, bottom, width, height

SERIES = 8  # colours that the page defines as --s0, --s1, …; then they come again with another dash
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5))
LINK = re.compile(r"(?:^|url\()#(\w+)(?=\)|$)")  # to an id in the same drawing
INK, GROUND = "#010203", "#010204"  # become the colours of the page's text and background
MARKERS = "os^DvPX*"  # of points, by class
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a class may be called $x$
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "font.size": 10.5,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
}


def colour(index: int) -> str:
    """The name of a curve's colour in the page's style sheet."""
    return f"var(--s{index % SERIES})"


def dashes(index: int) -> tuple[float, ...]:
    """How a curve is dashed, as SVG has it; nothing is a plain line."""
    return DASHES[index // SERIES % len(DASHES)]


def marker(index: int, *, hollow: bool) -> dict[str, Any]:
    """How a point of a class looks, for matplotlib's `plot`."""
    inside, edge = (GROUND, hue(index)) if hollow else (hue(index), GROUND)
    look = {"markerfacecolor": inside, "markeredgecolor": edge, "markeredgewidth": 1.1 if hollow else 0.4}
    return {"marker": MARKERS[index % len(MARKERS)], "markersize": 4 if hollow else 4.4, **look}


def single(name: str, title: str, look: Mapping[str, Any]) -> str:
    """One point of this look, for a key."""
    with sheet((10, 10)) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.plot(0, 0, **look)
        axes.set_axis_off()
        return inline(figure, name, title)


@contextmanager
def sheet(size: tuple[int, int]) -> Iterator[Figure]:
    """An empty figure of so many pixels, in the style of the page."""
    with mpl.rc_context(STYLE), warnings.catch_warnings(action="ignore"):  # of letters that its own font lacks
        yield Figure(figsize=(size[0] / 72, size[1] / 72))


def box(size: tuple[int, int], *, left: float, bottom: float, right: float, top: float) -> Box:
    """Margins in pixels as the shares of a figure that matplotlib wants."""
    width, height = size
    return left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height


def hue(index: int) -> str:
    """Stands for a curve's colour until the drawing is made part of the page."""
    return f"#0102f{index % SERIES}"


def inline(figure: Figure, name: str, title: str) -> str:
    """An SVG element without declarations, links, or ids that another figure of the page might have."""
    text = StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    drawing = ElementTree.fromstring(text.getvalue())
    used = {found for element in drawing.iter() for value in element.attrib.values() for found in LINK.findall(value)}
    for parent in list(drawing.iter()):
        for child in [child for child in parent if _bare(child.tag) in ("metadata", "style")]:
            parent.remove(child)
    for element in drawing.iter():
        element.tag = _bare(element.tag)
        own = {_bare(key): value for key, value in element.attrib.items()}
        element.attrib.clear()
        plain = {key: value for key, value in own.items() if key != "id" and not value.startswith("rotate(-0 ")}
        element.attrib.update({key: _tidy(value, name) for key, value in plain.items()})
        if own.get("id") in used:
            element.set("id", f"{name}-{own['id']}")
    result = ElementTree.Element("svg", {"viewBox": drawing.attrib["viewBox"], "role": "img", "aria-label": title})
    ElementTree.SubElement(result, "title").text = title
    result.extend(drawing)
    return ElementTree.tostring(result, encoding="unicode")


def _bare(qualified: str) -> str:
    return qualified.rpartition("}")[2]


def _tidy(value: str, name: str) -> str:
    value = LINK.sub(lambda found: found[0].replace("#", f"#{name}-"), value)
    value = re.sub("#0102f([0-9a-f])", lambda found: colour(int(found[1], 16)), value).replace(INK, "currentColor")
    value = value.replace(GROUND, "var(--page)")
    value = re.sub(r"font-family:[^;]*;? ?", "", value)
    return re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", value)
