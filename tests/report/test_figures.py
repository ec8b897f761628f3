import re
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.report.figures import SERIES, Curve, colour, curves, dashes, matrix, reliability, shorten

RNG = np.random.default_rng(0)
RUNS = Curve(RNG.random((3, 20)), [(4, 0.5), (7, 0.6)])
BINS = np.array([[0, 0, 0], [4, 1.0, 2], [6, 4.5, 5]], dtype=float)
AXIS = ("true", "given")
NASTY = [
    "<script>alert(1)</script>",
    "$x$ \\frac{1}",
    "&amp;",
    "x\x00\x1b\u202ey",
    "\ud800",
    "שלום",
    "🦊",
    "long " * 40,
]


def heat(classes, *, name="m", cells=None):
    names = [f"class {i}" for i in range(classes)]
    return matrix(name, "T", RNG.dirichlet(np.ones(classes), classes), names, axis=AXIS, cells=cells)


def drawings():
    return {
        "curves": curves("a", "title", [RUNS, RUNS]),
        "small curves": curves("b", "title", [RUNS], small=True),
        "matrix": heat(3, cells=[["1"] * 3] * 3),
        "large matrix": heat(100),
        "reliability": reliability("c", "title", BINS),
    }


def words(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter("text")]


@pytest.mark.parametrize("kind", drawings())
def test_a_figure_is_one_named_element_without_links_or_styles(kind):
    svg = drawings()[kind]
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root[0].tag == "title"
    assert root.get("aria-label") == root[0].text != ""
    assert not re.search(r"https?:|xmlns|<style|<metadata|font-family", svg)


@pytest.mark.parametrize("kind", drawings())
def test_ink_is_that_of_the_page(kind):
    svg = drawings()[kind]
    assert "currentColor" in svg
    assert not re.search("#0102|#000000|fill: #fff", svg.replace("fill: #ffffff", "") if "matrix" in kind else svg)


@pytest.mark.parametrize("kind", drawings())
def test_every_reference_finds_its_target_and_ids_carry_the_name_of_the_figure(kind):
    svg = drawings()[kind]
    ids = re.findall(r' id="([^"]+)"', svg)
    name = ids[0].split("-")[0]
    assert len(ids) == len({*ids})
    assert all(each.startswith(f"{name}-") for each in ids)
    assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg)) <= {(i, "") for i in ids} | {("", i) for i in ids}


def test_the_same_figure_twice_is_the_same_text():
    assert curves("a", "title", [RUNS]) == curves("a", "title", [RUNS])


def test_names_of_classes_are_text_whatever_they_hold():
    svg = matrix("m", "T", np.eye(len(NASTY)), NASTY, axis=AXIS, cells=None)
    found = words(svg)
    assert "<script" not in svg
    assert {"<script>alert…", "$x$ \\frac{1}", "&amp;", "x y", "שלום", "🦊"} <= {*found}
    assert max(map(len, found)) <= 14


@pytest.mark.parametrize(("classes", "named"), [(2, True), (12, True), (25, True), (26, False), (100, False)])
def test_names_are_shown_where_they_fit(classes, named):
    assert ("class 1" in words(heat(classes))) == named


def test_cells_show_what_they_are_given():
    found = words(heat(2, cells=[["a", "b"], ["c", "d"]]))
    assert {"a", "b", "c", "d"} <= {*found}


def test_a_row_that_was_never_counted_is_drawn_empty():
    assert "NaN" not in matrix("m", "T", np.array([[np.nan, np.nan], [0.5, 0.5]]), ["a", "b"], axis=AXIS, cells=None)


@pytest.mark.parametrize("values", [np.full((2, 5), np.nan), np.ones((1, 1)), np.array([[0.5, np.nan, 0.7]])])
def test_gaps_and_single_epochs_can_be_drawn(values):
    assert "epoch" in words(curves("a", "title", [Curve(values, [(0, np.nan)])]))


def test_bins_without_rows_are_left_out():
    assert reliability("c", "t", BINS).count("var(--s0)") > reliability("c", "t", BINS[:2]).count("var(--s0)") > 0


def test_every_curve_looks_different():
    assert len({(colour(index), dashes(index)) for index in range(3 * SERIES)}) == 3 * SERIES


def test_short_names_stay_as_they_are():
    assert shorten("setosa") == "setosa"
