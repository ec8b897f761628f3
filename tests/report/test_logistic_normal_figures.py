import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.report.logistic_normal_figures import (
    Law,
    Tried,
    accuracy_curves,
    accuracy_map,
    attenuation,
    best_law,
    logit_plane,
    simplex,
)

LAWS = [
    Law("sure", np.array([2.0, 0]), 0.3 * np.eye(2)),
    Law("unsure", np.array([1.0, 1]), np.array([[2.0, -1], [-1, 2]])),
]
PAIR = Tried(
    ("tau", "lam"),
    (False, True),
    np.array([[0.1, 0.1], [0.1, 1], [1, 0.1], [1, 1], [0.5, 0.5]]),
    {"last": np.array([0.9, 0.8, np.nan, 0.7, 0.75])},
    chosen=1,
)
ONE = Tried(
    ("q",), (False,), np.array([[0.9], [0.1], [0.5]]), {"a": np.array([0.6, 0.8, 0.7]), "b": np.ones(3)}, chosen=2
)


def drawings():
    return {
        "logit plane": logit_plane("a", "title", LAWS, 2.5),
        "simplex": simplex("b", "title", LAWS, 2.5),
        "attenuation": attenuation("c", "title", [0.5, 1], whole=True),
        "map": accuracy_map("d", "title", PAIR, "last"),
        "curves": accuracy_curves("e", "title", ONE),
    }


def paths(svg, style):
    """What is drawn in a style, as arrays of points in pixels."""
    drawn = [each for each in ElementTree.fromstring(svg).iter("path") if style in each.get("style", "")]
    return [np.array(re.findall(r"[ML] (\S+) (\S+)", each.get("d")), dtype=float) for each in drawn if each.get("d")]


def lines(svg, index):
    return [each for each in paths(svg, f"stroke: var(--s{index})") if len(each) > 3]  # without the key


def points(svg, style):
    found = [each for each in ElementTree.fromstring(svg).iter("use") if style in each.get("style")]
    return np.array([[float(each.get("x")), float(each.get("y"))] for each in found])


def words(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


@pytest.mark.parametrize("kind", drawings())
def test_a_figure_is_one_named_element_in_the_colours_of_the_page(kind):
    svg = drawings()[kind]
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == root[0].text == "title"
    assert not re.search(r"https?:|xmlns|<style|font-family", svg)
    assert "currentColor" in svg


@pytest.mark.parametrize("draw", [logit_plane, simplex])
def test_every_law_has_three_contours_one_inside_the_other(draw):
    svg = draw("a", "t", LAWS, 2.5)
    for index in range(2):
        spans = [np.ptp(each, axis=0) for each in lines(svg, index)]
        assert len(spans) == 3
        assert all((inner < outer).all() for inner, outer in pairwise(spans))


def test_contours_enclose_the_shares_that_they_should():
    # of a round law with standard deviation 0.3, a share p lies within 0.3 √(-2 log(1 - p))
    svg = logit_plane("a", "t", LAWS[:1], 2.5)
    radii = [np.ptp(each[:, 0]) / 2 for each in lines(svg, 0)]
    expected = [0.3 * math.sqrt(-2 * math.log(1 - share)) for share in (0.5, 0.8, 0.95)]
    assert [radius / radii[0] for radius in radii] == pytest.approx([each / expected[0] for each in expected], rel=0.01)


def test_the_simplex_shows_probabilities():
    # a law at the origin is a third each: the centre of the triangle
    centre = Law("even", np.zeros(2), 0.1 * np.eye(2))
    svg = simplex("a", "t", [centre], 2.5)
    triangle = paths(svg, "opacity: 0.5; stroke: currentColor")[0][:3]
    (middle,) = points(svg, "fill: var(--s0)")
    assert middle == pytest.approx(triangle.mean(0), abs=0.05)


@pytest.mark.parametrize("whole", [False, True])
def test_attenuation_begins_at_the_floor(whole):
    svg = attenuation("c", "t", [1.0], whole=whole)
    (curve,), (mark,) = lines(svg, 0), points(svg, "fill: var(--s0)")
    assert (mark[0] - curve[0, 0]) / np.ptp(curve[:, 0]) == pytest.approx(1 / 4, abs=0.005)
    value = (curve[0, 1] - mark[1]) / (curve[0, 1] - curve[-1, 1])
    # ½ of ½ + log 4 in all; of the label's part, all of it
    assert value == pytest.approx(0.5 / (0.5 + math.log(4)) if whole else 1, abs=0.01)


def test_a_map_writes_each_accuracy_at_its_setting_and_crosses_what_failed():
    svg = accuracy_map("d", "t", PAIR, "last")
    assert {"90.0", "80.0", "70.0", "75.0"} <= {*words(svg)}
    assert "nan" not in svg
    assert len(points(svg, "fill: #2663a8")) == 4
    assert len(points(svg, "stroke: currentColor")) >= 1


def test_a_map_rings_the_chosen_setting():
    svg = accuracy_map("d", "t", PAIR, "last")
    (ring,) = points(svg, "stroke: var(--s1)")
    places = points(svg, "fill: #2663a8")
    assert [np.allclose(ring, each) for each in places] == [False, True, False, False]


def test_a_map_is_logarithmic_where_the_search_is():
    places = points(accuracy_map("d", "t", PAIR, "last"), "fill: #2663a8")  # (.1, .1), (.1, 1), (1, 1), (.5, .5)
    low, high, far, middle = places
    assert (low[1] - middle[1]) / (low[1] - high[1]) == pytest.approx(math.log10(5), abs=0.01)
    assert (middle[0] - low[0]) / (far[0] - low[0]) == pytest.approx(4 / 9, abs=0.01)


def test_a_map_of_many_settings_has_no_numbers():
    values = np.random.default_rng(0).uniform(0.1, 1, (40, 2))
    many = Tried(PAIR.names, PAIR.logarithmic, values, {"last": np.full(40, 0.123)}, chosen=0)
    assert "12.3" not in words(accuracy_map("d", "t", many, "last"))


def test_curves_go_through_the_settings_in_their_order():
    svg = accuracy_curves("e", "t", ONE)
    falling = paths(svg, "stroke: var(--s0)")[0]
    assert (np.diff(falling[:, 0]) > 0).all()
    assert (np.diff(falling[:, 1]) > 0).all()  # downwards
    assert "q" in words(svg)


def test_the_best_law_has_the_mean_and_spread_of_the_labels_but_no_less_than_the_floor():
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((200_000, 1)) < 0.6, [[2.0, 0.0]], [[0.0, 2.0]])
    law = best_law("doubtful", 0.6, height=2.0, floor=0.3)
    assert law.mean == pytest.approx(labels.mean(0), abs=0.01)
    across, along = np.linalg.eigvalsh(law.root)
    assert along == pytest.approx((labels @ [1, -1] / 2**0.5).std(), rel=0.01)
    assert across == pytest.approx(0.3)
    assert np.linalg.eigvalsh(best_law("sure", 1.0, height=2.0, floor=0.3).root) == pytest.approx([0.3, 0.3])
