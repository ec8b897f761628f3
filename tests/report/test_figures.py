import re
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.report.canvas import colour
from labelnoise.report.figures import (
    Curve,
    Plane,
    curves,
    matrix,
    regions,
    reliability,
    shorten,
    sign,
    transitions,
)

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


def halves(height=1.0, wrong=()):
    """The plane from -1 to 1, where the probability of the second class rises with the first input, and five points."""
    across = np.linspace(-1, 1, 21)
    second = np.tile(0.5 + 0.5 * height * across, (21, 1))
    points, given = np.linspace(-0.8, 0.8, 10).reshape(5, 2), np.array([0, 0, 0, 1, 1])
    return Plane(
        np.stack([1 - second, second]), np.array([-1.0, 1, -1, 1]), points, given, np.isin(np.arange(5), wrong)
    )


def looks(svg):
    """The style of every point."""
    return [
        element.get("style") for element in ElementTree.fromstring(svg).iter("use") if "var" in element.get("style")
    ]


def paths(svg, style):
    """What is drawn in a style, as lists of x coordinates in pixels."""
    drawn = [each for each in ElementTree.fromstring(svg).iter("path") if each.get("d") and style in str(each.attrib)]
    return [[float(x) for x in re.findall(r"[ML] (\S+) \S+", each.get("d"))] for each in drawn]


def drawings():
    return {
        "curves": curves("a", "title", [RUNS, RUNS]),
        "small curves": curves("b", "title", [RUNS], small=True),
        "matrix": heat(3, cells=[["1"] * 3] * 3),
        "large matrix": heat(100),
        "reliability": reliability("c", "title", BINS),
        "regions": regions("d", "title", halves(wrong=[1])),
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


def test_a_curve_is_the_mean_of_the_runs_that_have_a_value():
    whole, part = np.array([[0.2, 0.6, 0.6]]), np.array([[0.2, 0.6, 0.6], [0.4, np.nan, np.nan]])
    drawn = [re.search(r'd="([^"]+)"[^>]*stroke: var\(--s0\)', _line(each))[1] for each in (whole, part)]
    first, *rest = ([float(y) for y in re.findall(r"[ML] \S+ (\S+)", path)] for path in drawn)
    assert rest == [[pytest.approx(first[0] - (first[0] - first[1]) / 4, abs=0.02), *first[1:]]]


def test_a_value_between_gaps_is_a_point():
    alone = np.array([[0.2, np.nan, 0.4, np.nan, 0.6, 0.8]])
    assert len(looks(_line(alone))) == 2
    assert looks(_line(np.array([[0.2, 0.4, np.nan, 0.6, 0.8]]))) == []


def _line(values):
    return curves("a", "title", [Curve(values)], small=True)


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


def test_the_line_between_regions_is_where_both_classes_are_equally_probable():
    lines = [x for x in paths(regions("d", "t", halves()), "stroke: currentColor") if len(x) > 10]
    assert lines
    assert np.abs(np.concatenate(lines) - (36 + 256 / 2)).max() < 0.1  # the middle of the frame


@pytest.mark.parametrize(("height", "bands"), [(1.0, 5), (0.5, 3), (0.1, 1)])  # highest probability 1, 0.75 and 0.55
def test_a_region_has_a_band_for_each_level_of_probability_that_it_reaches(height, bands):
    svg = regions("d", "t", halves(height))
    for index in (0, 1):
        assert len(paths(svg, f"fill: {colour(index)}; fill-opacity")) == bands


def test_points_have_the_colour_of_their_given_label_and_are_hollow_where_it_is_wrong():
    found = looks(regions("d", "t", halves(wrong=[1, 4])))
    filled, hollow = "fill: {}; stroke: var(--page)", "fill: var(--page); stroke: {}"
    expected = {filled.format(colour(0)): 2, hollow.format(colour(0)): 1}
    expected |= {filled.format(colour(1)): 1, hollow.format(colour(1)): 1}
    assert {style: sum(each.startswith(style) for each in found) for style in expected} == expected
    assert len(found) == 5


def test_a_class_that_is_nowhere_most_probable_has_no_region():
    plane = halves()
    never = Plane(
        np.stack([*plane.probs, np.zeros_like(plane.probs[0])]), plane.frame, plane.points, plane.given, plane.wrong
    )
    svg = regions("d", "t", never)
    assert [bool(paths(svg, f"fill: {colour(index)}; fill-opacity")) for index in range(3)] == [True, True, False]


def test_a_sign_looks_like_the_points_of_its_class():
    svg = regions("d", "t", halves(wrong=[1]))
    for index, hollow in ((0, False), (0, True), (1, False)):
        assert looks(sign("s", index, hollow=hollow))[0] in looks(svg)


def test_matrices_side_by_side_are_a_file_of_their_own():
    svg = transitions("noise", {"first": np.eye(2), "second": np.array([[0.6, 0.4], [0.044, 0.956]])})
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in svg
    found = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in found if text not in ("0", "1", "true", "given")] == [
        *("100", "100", "first"),
        *("60", "40", "4.4", "96", "second"),
    ]
    assert found.count("0") == 4  # beside rows and under columns, but in no cell


def test_a_table_whose_rows_are_inputs_has_no_numbers_of_classes_beside_them():
    svg = transitions("noise", {"rows": np.full((3, 2), 0.5)})
    found = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert found.count("50") == 6
    assert sorted({*found} - {"50"}) == ["0", "1", "given", "input", "rows"]


def test_short_names_stay_as_they_are():
    assert shorten("setosa") == "setosa"
