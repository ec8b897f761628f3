import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labelnoise.report import gallery as module
from labelnoise.report.gallery import LIGHT, gallery, on_white
from labelnoise.report.template import Panel, legend

SVG = "{http://www.w3.org/2000/svg}"
FIGURE = '<svg viewBox="0 0 100 50" role="img"><path style="fill: var(--s1); stroke: var(--page)" d="M 0 0" /></svg>'
PANELS = [Panel(FIGURE, "first <b>"), Panel(FIGURE.replace("100 50", "120 80"), "second"), Panel(FIGURE, "third")]


def frames(columns):
    """The size of a file of three figures, and place and size of each."""
    root = ElementTree.fromstring(gallery("a title", PANELS, columns))
    inner = [[float(each.get(key)) for key in ("x", "y", "width", "height")] for each in root.findall(f"{SVG}svg")]
    return [float(root.get(key)) for key in ("width", "height")], inner


def test_a_file_has_plain_colours():
    text = on_white(FIGURE, (100, 50))
    assert re.findall(r'(?:fill|stroke): ([^;"]+)', text) == [LIGHT[1], "white"]
    assert ElementTree.fromstring(text).get("width") == "100"


def test_the_plain_colours_are_those_of_the_page_by_day():
    page = Path(module.__file__).with_name("shell.html").read_text()
    assert tuple(re.findall(r"--s\d: (#\w+)", page)[:8]) == LIGHT


def test_captions_are_text_and_no_markup():
    root = ElementTree.fromstring(gallery("a title", PANELS, 2))
    assert [each.text for each in root.iter(f"{SVG}text")] == ["first <b>", "second", "third"]
    assert root.get("aria-label") == root.find(f"{SVG}title").text == "a title"


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_figures_keep_their_size_and_do_not_overlap(columns):
    (width, height), inner = frames(columns)
    assert [each[2:] for each in inner] == [[100, 50], [120, 80], [100, 50]]
    for place, (x, y, w, h) in enumerate(inner):
        assert 0 <= x < x + w <= width
        assert 0 <= y < y + h <= height
        for a, b, c, d in inner[:place]:
            assert x >= a + c or y >= b + d


def test_a_key_stands_below_the_figures_in_the_colours_of_the_curves():
    labels = [f"a long name of curve {number}" for number in range(5)]
    root = ElementTree.fromstring(gallery("a title", PANELS, 2, legend(labels)))
    lines, names = list(root.iter(f"{SVG}line")), list(root.iter(f"{SVG}text"))[len(PANELS) :]
    assert [each.text for each in names] == labels
    assert [each.get("stroke") for each in lines] == list(LIGHT[:5])
    bottom = max(float(each.get("y")) + float(each.get("height")) for each in root.findall(f"{SVG}svg"))
    assert all(bottom < float(each.get("y1")) < float(root.get("height")) for each in lines)
    places = [(float(each.get("x1")), float(each.get("y1"))) for each in lines]
    assert len({*places}) == 5
    assert all(x < float(root.get("width")) for x, _ in places)
