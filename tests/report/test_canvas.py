import re
from xml.etree import ElementTree

import pytest

from labelnoise.report.canvas import GROUND, INK, SERIES, box, colour, dashes, hue, inline, marker, sheet, single


def drawing(draw, name="a"):
    with sheet((100, 50)) as figure:
        draw(figure.add_axes((0, 0, 1, 1)))
        return inline(figure, name, "title")


def test_every_curve_looks_different():
    assert len({(colour(index), dashes(index)) for index in range(3 * SERIES)}) == 3 * SERIES


def test_a_box_leaves_its_margins():
    left, bottom, width, height = box((200, 100), left=20, bottom=10, right=40, top=5)
    assert (left * 200, bottom * 100) == pytest.approx((20, 10))
    assert (left + width, bottom + height) == pytest.approx((1 - 40 / 200, 1 - 5 / 100))


def test_a_sheet_has_as_many_pixels_as_asked_for():
    root = ElementTree.fromstring(drawing(lambda axes: axes.set_axis_off()))
    assert [float(each) for each in root.get("viewBox").split()] == [0, 0, 100, 50]


@pytest.mark.parametrize(
    ("stand_in", "meant"),
    [(INK, "currentColor"), (GROUND, "var(--page)"), (hue(3), "var(--s3)"), (hue(11), "var(--s3)")],
)
def test_stand_ins_become_the_colours_of_the_page(stand_in, meant):
    svg = drawing(lambda axes: axes.plot([0, 1], [0, 1], color=stand_in))
    assert f"stroke: {meant}" in svg
    assert stand_in not in svg


def test_two_drawings_of_different_names_share_no_id():
    first, second = (re.findall(r' id="([^"]+)"', drawing(lambda axes: axes.plot(0, 0, "o"), name)) for name in "ab")
    assert first
    assert not {*first} & {*second}


def test_a_hollow_point_has_the_colour_of_the_page_inside():
    drawn = [single("a", "t", marker(2, hollow=hollow)) for hollow in (False, True)]
    inside = [re.search('<use[^>]*fill: ([^;"]+)', svg)[1] for svg in drawn]
    assert inside == ["var(--s2)", "var(--page)"]


def test_classes_have_points_of_different_shapes():
    assert len({marker(index, hollow=False)["marker"] for index in range(8)}) == 8
