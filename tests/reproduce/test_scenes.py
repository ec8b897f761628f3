from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.metrics.separator import separator
from labelnoise.papers.figures import Figure
from labelnoise.reproduce.scenes import lines, projection, regions, solved
from labelnoise.reproduce.series import Series

FIGURE = Figure("fig", "lines", "Shows.", (), (0.001, 0.1), "", 1)
RNG = np.random.default_rng(0)


def made(method, part, columns, *, data="digits", seed=0):
    return Series(data, "none", method, "", "m", f"{data}{method}{seed}", seed, part, columns)


def points(count=30, classes=("cat", "owl", "eel"), numbers=(2, 5, 7)):
    x, y = RNG.normal(size=(2, count))
    given = np.array([numbers[place % len(numbers)] for place in range(count)], dtype=float)
    labels = np.array([classes[place % len(classes)] for place in range(count)])
    return {"x": x, "y": y, "given": given, "label": labels, "wrong": (np.arange(count) < 6).astype(float)}


def grid(side=4):
    y, x = (
        each.ravel() for each in np.meshgrid(np.arange(side, dtype=float), np.arange(side, dtype=float), indexing="ij")
    )
    return {"x": x, "y": y, "p0": (x < 1.5) * 0.8 + 0.1, "p1": (x >= 1.5) * 0.8 + 0.1}


def marks(svg):
    return sum(1 for each in ElementTree.fromstring(svg).iter("use") if each.get("x"))


def test_a_projection_has_a_panel_for_the_first_seed_of_each_method_with_all_its_points():
    found = [made(method, "", points(), seed=seed) for method in ("CE", "LS 0.1", "LS 0.2") for seed in (1, 0)]
    drawing = projection(FIGURE, found)
    assert [panel.caption for panel in drawing.panels] == ["digits, CE", "digits, LS 0.1", "digits, LS 0.2"]
    assert [marks(panel.svg) for panel in drawing.panels] == [30, 30, 30]
    assert [key.label for key in drawing.legend] == ["labelled cat", "labelled owl", "labelled eel"]


def test_classes_that_differ_stand_with_their_panels():
    found = [made("CE", "", points()), made("LS", "", points(classes=("ant", "bee", "owl")))]
    drawing = projection(FIGURE, found)
    assert drawing.panels[1].caption == "digits, LS: ant, bee, owl"
    assert drawing.legend == []


def test_regions_have_a_panel_for_each_training():
    both = {"classes": ("upper", "lower"), "numbers": (0, 1)}
    found = [
        each
        for data in ("moons", "circles")
        for method in ("CE", "LN")
        for each in (made(method, "grid", grid(), data=data), made(method, "points", points(**both), data=data))
    ]
    drawing = regions(FIGURE, found)
    assert [panel.caption for panel in drawing.panels] == ["moons, CE", "moons, LN", "circles, CE", "circles, LN"]
    assert drawing.columns == 2
    assert "labelled upper" in [key.label for key in drawing.legend]


def test_regions_part_where_the_probabilities_cross():
    found = [made("CE", "grid", grid()), made("CE", "points", points(classes=("a", "b"), numbers=(0, 1)))]
    svg = regions(FIGURE, found).panels[0].svg
    border = [each for each in ElementTree.fromstring(svg).iter("path") if "stroke-width: 0.9" in each.get("style", "")]
    across = [float(each.get("d").split()[1]) for each in border]
    left, right = 36, 300 - 8  # of the frame, in pixels: x = 0 and x = 3
    assert across == [pytest.approx((left + right) / 2, abs=1)] * 2  # of either class


def test_lines_that_are_solved_are_those_of_the_population():
    found = solved(FIGURE)
    assert [each.method for each in found] == ["decay 0.001", "decay 0.1"]
    assert np.concatenate(found[0].numbers("a", "b", "c")).tolist() == list(separator(l2=0.001).plane)


def test_a_key_says_where_lines_cross_the_diagonal():
    line = {"a": np.array([1.0]), "b": np.array([3.0]), "c": np.array([2.0])}
    cloud = points(classes=("negative", "positive"), numbers=(0, 1))
    found = [made("CE", "line", line), made("CE", "points", cloud), *solved(FIGURE)]
    drawing = lines(FIGURE, found)
    assert len(drawing.panels) == 2
    # x = y = t / √2 on the line x + 3 y + 2 = 0; the others as published by Newton's method on the population
    assert [key.label for key in drawing.legend] == [
        f"CE: t = −{2**0.5 / 2:.3f}",
        "decay 0.001: t = −0.428",
        "decay 0.1: t = −0.158",
    ]
    assert [key.colour for key in drawing.legend] == ["var(--s0)", "var(--s1)", "var(--s2)"]
    assert "var(--s1)" not in drawing.panels[0].svg
    assert "var(--s1)" in drawing.panels[1].svg
