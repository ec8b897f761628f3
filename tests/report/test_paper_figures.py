import re
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.metrics.separator import separator
from labelnoise.report.gallery import LIGHT
from labelnoise.report.paper_figures import (
    Cloud,
    Family,
    Trend,
    against_noise,
    black_sign,
    densities,
    loss_catalogue,
    losses,
    projection,
    separators,
    trends,
)

RNG = np.random.default_rng(0)
SPAN = (-0.1, 0.9)
CLOUD = Cloud(RNG.normal(size=(30, 2)), np.arange(30) % 3, np.arange(30) % 10 == 0)
TWO = Cloud(np.array([[-1.0, -1], [1, 1], [-1.1, -0.9]]), np.array([0, 1, 1]), np.array([False, False, True]))
TREND = Trend([0, 0.2, 0.4], [np.array(each) for each in ([0.9, 0.9], [0.8, 0.7], [0.5, 0.6])])
MARGIN = np.linspace(-1, 1, 5)
FAMILY = Family("a family", MARGIN, {"first": (MARGIN**2, 2 * MARGIN), "second": (-MARGIN, -np.ones(5))})


def drawings():
    return {
        "densities": densities("a", "title", [RNG.integers(1, 9, (2, 20)).astype(float)] * 2, SPAN),
        "projection": projection("b", "title", CLOUD),
        "separators": separators("c", "title", TWO, np.array([[1, 1, 0.5]])),
        "against noise": against_noise("d", "title", [TREND, TREND], "accuracy, %", percent=True),
    }


def paths(svg, style):
    """What is drawn in a style, as arrays of points in pixels."""
    drawn = [each for each in ElementTree.fromstring(svg).iter("path") if style in each.get("style", "")]
    return [np.array(re.findall(r"[ML] (\S+) (\S+)", each.get("d")), dtype=float) for each in drawn if each.get("d")]


def marks(svg, style):
    """Points in a style, in pixels; the signs that stand on axes have no edge colour of the page."""
    found = [each for each in ElementTree.fromstring(svg).iter("use") if style in each.get("style")]
    return np.array([[float(each.get("x")), float(each.get("y"))] for each in found])


def words(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


@pytest.mark.parametrize("kind", drawings())
def test_a_figure_is_one_named_element_without_links_or_styles(kind):
    svg = drawings()[kind]
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == root[0].text == "title"
    assert not re.search(r"https?:|xmlns|<style|<metadata|font-family", svg)


@pytest.mark.parametrize("kind", drawings())
def test_all_colours_are_those_of_the_page(kind):
    svg = drawings()[kind]
    assert "currentColor" in svg
    assert "var(--s0)" in svg
    assert not re.search("#[0-9a-f]{6}", svg)


def test_densities_are_shares_and_not_counts():
    svg = densities("a", "t", [np.array([[2.0, 1, 0, 1]]), np.array([[20.0, 10, 0, 10]])], (0, 1))
    few, many = (paths(svg, f"stroke: var(--s{index})")[0][:, 1] for index in range(2))
    assert few.tolist() == many.tolist()
    assert sorted({*(few.max() - few) / np.ptp(few)}) == pytest.approx([0, 0.5, 1], abs=0.01)


def test_densities_are_means_over_runs():
    svg = densities("a", "t", [np.array([[3.0, 1], [1, 3]]), np.array([[2.0, 2]])], (0, 1))
    mean, level = (paths(svg, f"stroke: var(--s{index})")[0][:, 1] for index in range(2))
    assert {*mean} == {*level}


def test_a_run_without_rows_has_no_density():
    assert paths(densities("a", "t", [np.zeros((1, 5))], SPAN), "stroke: var(--s0)") == []


def test_decades_are_named_as_powers_of_ten():
    svg = densities("a", "t", [np.ones((1, 5))], (-2, 1), "size", decades=True)
    assert [each for each in words(svg) if each.startswith("10")] == ["10⁻²", "10⁻¹", "10⁰", "10¹"]
    assert "size" in words(svg)


def test_wrong_labels_are_black_whatever_their_class():
    svg = projection("b", "t", CLOUD)
    assert len(marks(svg, "fill: currentColor; stroke: var(--page)")) == 3
    assert [len(marks(svg, f"fill: var(--s{index})")) for index in range(3)] == [9, 9, 9]


def test_a_wrong_label_has_the_shape_of_its_class():
    points, given = np.zeros((2, 2)), np.array([1, 1])
    svg = projection("b", "t", Cloud(points, given, np.array([False, True])))
    signs = {each.get("id"): each.get("d") for each in ElementTree.fromstring(svg).iter("path") if each.get("id")}
    used = {each.get("style"): each.get("href") for each in ElementTree.fromstring(svg).iter("use")}
    right, wrong = (next(v for k, v in used.items() if f"fill: {c}" in k) for c in ("var(--s1)", "currentColor"))
    assert signs[right[1:]] == signs[wrong[1:]]


def test_a_sign_of_wrong_labels_looks_like_them():
    assert len(marks(black_sign("k"), "fill: currentColor; stroke: var(--page)")) == 1


def test_both_axes_of_a_projection_have_the_same_scale():
    points = np.array([[0.0, 0], [2, 0], [0, 1]])
    svg = projection("b", "t", Cloud(points, np.arange(3), np.zeros(3, dtype=bool)))
    origin, right, up = (marks(svg, f"fill: var(--s{index})")[0] for index in range(3))
    assert right[0] - origin[0] == pytest.approx(2 * (origin[1] - up[1]), abs=0.05)


def distance(point, start, end):
    """From a line through two points."""
    (x, y), (u, v) = end - start, point - start
    return abs(x * v - y * u) / np.hypot(x, y)


def test_a_separator_lies_where_it_should_among_the_points():
    found = separator(0.1)
    svg = separators("c", "t", TWO, np.array([found.plane]))
    (line,) = paths(svg, "stroke: var(--s0)")
    (best,) = paths(svg, "stroke-dasharray: 3.6,2.7")
    (wrong,) = marks(svg, "fill: currentColor; stroke: var(--page)")
    # the wrong point is at t = -√2; both lines have the same direction
    distances = [distance(wrong, *each[[0, -1]]) for each in (line, best)]
    assert distances[0] / distances[1] == pytest.approx(1 + found.crossing / np.sqrt(2), abs=0.01)


def test_a_trend_shows_the_mean_of_runs_by_rate_with_a_band():
    svg = against_noise("d", "t", [TREND], "accuracy, %", percent=True)
    (line,) = paths(svg, "fill: none; stroke: var(--s0)")
    assert np.diff(line[:, 0]) == pytest.approx([np.ptp(line[:, 0]) / 2] * 2, abs=0.02)
    assert np.divide(*np.diff(line[:, 1])) == pytest.approx(0.15 / 0.2, rel=0.02)  # the means fall 0.9, 0.75, 0.55
    assert "opacity: 0.1" in svg


def test_one_run_has_no_band():
    assert "opacity: 0.1;" not in against_noise(
        "d", "t", [Trend(TREND.places, [each[:1] for each in TREND.values])], "value"
    )


def test_rates_may_have_different_numbers_of_runs():
    svg = against_noise("d", "t", [Trend([0.1, 0.3], [np.array([1.0, 3, 2]), np.array([2.0])])], "value")
    (line,) = paths(svg, "fill: none; stroke: var(--s0)")
    assert line[0, 1] == line[1, 1]  # both means are 2


def test_the_catalogue_is_a_whole_file_with_plain_colours():
    svg = loss_catalogue("t", [FAMILY, FAMILY], columns=2)
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "var(" not in svg
    assert {*LIGHT[:2]} <= {*re.findall("#[0-9a-f]{6}", svg)}
    assert words(svg).count("a family") == 2


def strokes(svg, colour):
    drawn = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
    return [each.get("d") for each in drawn if f"stroke: {colour}" in each.get("style", "")]


def test_the_catalogue_draws_loss_derivative_and_key_of_every_curve():
    svg = loss_catalogue("t", [FAMILY], columns=1)
    assert [len(strokes(svg, colour)) for colour in LIGHT[:3]] == [3, 3, 0]


def test_a_derivative_that_leaves_the_picture_is_interrupted():
    pole = Family("f", MARGIN, {"a": (MARGIN, np.array([1, 1, 1e6, -1, -1.0]))}, most=(1, 2))
    _, derivative, _ = strokes(loss_catalogue("t", [pole]), LIGHT[0])
    assert derivative.count("M") == 2


def test_a_quantity_may_be_shown_by_any_other():
    svg = trends("d", "t", [TREND], ("alpha", "accuracy, %"), percent=True)
    assert {"alpha", "accuracy, %"} <= set(words(svg))
    assert "wrong labels, %" not in words(svg)


def test_what_others_have_printed_is_a_hollow_point_at_its_place():
    plain = Trend([0, 1], [np.array([0.0]), np.array([1.0])])
    printed = Trend(plain.places, plain.values, [(0.5, 0.5)])
    hollow = "fill: var(--page)"
    assert len(marks(trends("d", "t", [plain], ("x", "y")), hollow)) == 0
    for svg in (trends("d", "t", [printed], ("x", "y")), against_noise("d", "t", [printed], "y")):
        (line,), (point,) = paths(svg, "stroke-width: 1.6"), marks(svg, hollow)
        assert point == pytest.approx(line.mean(0), abs=0.1)


def test_a_curve_without_values_leaves_the_colours_of_others_as_they_are():
    svg = trends("d", "t", [Trend([], []), TREND], ("x", "y"))
    assert "var(--s0)" not in svg
    assert "var(--s1)" in svg


def test_lines_may_begin_with_a_later_colour():
    svg = separators("c", "t", TWO, np.array([[1, 1, 0.5], [1, 2, 0.5]]), 3)
    assert [len(paths(svg, f"var(--s{index})")) for index in range(2, 6)] == [0, 1, 1, 0]


def test_losses_of_one_family_are_a_figure_of_a_page():
    svg = losses("d", "title", FAMILY)
    assert ElementTree.fromstring(svg).get("aria-label") == "title"
    assert {"a family", "first", "second", "loss", "derivative"} <= set(words(svg))
