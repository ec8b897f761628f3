from types import SimpleNamespace

import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.papers import Cell
from labelnoise.reproduce.taken import TAKEN, taken
from labelnoise.results.record import Record

CLASSES = ("cat", "dog", "owl", "eel")
RNG = np.random.default_rng(0)
COUNTS = torch.tensor(RNG.integers(0, 9, (3, 3, 60)))
PROBS = torch.rand(2, 3, 5)  # of two classes on three lines of five
DETAILS = {
    "last_margin_counts": COUNTS,
    "last_plane_frame": torch.tensor([0.0, 4.0, -1.0, 1.0]),
    "last_plane_probs": PROBS,
    "last_plane_points": torch.tensor([[0.5, 0.25], [1.5, -0.75]]),
    "last_plane_given": torch.tensor([1, 0]),
    "last_plane_wrong": torch.tensor([True, False]),
    "last_projection_points": torch.tensor([[3.0, 4.0], [5.0, 6.0]]),
    "last_projection_given": torch.tensor([3, 1]),
    "last_projection_wrong": torch.tensor([False, True]),
    "last_examined_residual": torch.tensor([0.5, -1.0]),
    "last_examined_wrong": torch.tensor([True, False]),
    "line": torch.tensor([1.0, 2.0, 3.0]),
}


def took(kind, measure, details=DETAILS):
    """Of a made-up run, the columns by part."""
    records = [Record("a1", "ce", 2, "train", epoch, {"m": 0.5 + 0.1 * epoch}) for epoch in range(3)]
    pack = SimpleNamespace(folder="runs/pack")
    run = SimpleNamespace(identity="a1", config={"seed": 2}, records=records, details=details, pack=pack)
    cell = Cell("digits", "none", "CE", 0.0, None, best=False, measure=measure)
    found = taken(kind, cell, run, CLASSES)
    assert {(each.run, each.seed, each.method, each.measure) for each in found} == {("a1", 2, "CE", measure)}
    return {each.part: {name: column.tolist() for name, column in each.columns.items()} for each in found}


def test_epochs_are_counted_from_1():
    assert took("by epoch", "m") == {"": {"epoch": [1, 2, 3], "value": pytest.approx([0.5, 0.6, 0.7])}}


@pytest.mark.parametrize(
    ("measure", "place"),
    [("margin/all/true", (0, 0)), ("margin/right/given", (1, 1)), ("margin/wrong/predicted", (2, 2))],
)
def test_margins_are_of_the_rows_and_the_label_of_their_name(measure, place):
    found = took("margins", measure)[""]
    assert found["rows"] == COUNTS[place].tolist()
    assert (found["low"][0], found["high"][-1]) == pytest.approx((-1 / 4, 3 / 4))
    assert found["low"][1:] == pytest.approx(found["high"][:-1])


def test_points_have_the_names_of_their_labels():
    found = took("projection", "projection")[""]
    assert found == {"x": [3, 5], "y": [4, 6], "given": [3, 1], "label": ["eel", "dog"], "wrong": [0, 1]}


def test_a_grid_goes_from_bottom_to_top_and_each_line_from_left_to_right():
    grid = took("regions", "regions")["grid"]
    for place in range(15):
        line, column = divmod(place, 5)
        assert (grid["x"][place], grid["y"][place]) == (column, line - 1)
        assert grid["p1"][place] == pytest.approx(PROBS[1, line, column].item())


def test_regions_and_lines_come_with_points():
    expected = {"x": [0.5, 1.5], "y": [0.25, -0.75], "given": [1, 0], "label": ["dog", "cat"], "wrong": [1, 0]}
    assert took("regions", "regions")["points"] == expected
    found = took("lines", "line")
    assert found == {"line": {"a": [1], "b": [2], "c": [3]}, "points": expected}


def test_residuals_are_told_apart_by_the_label():
    assert took("residuals", "residual")[""] == {"value": [0.5, -1.0], "wrong": [1, 0]}


def test_what_a_run_lacks_is_said(monkeypatch):
    with pytest.raises(InputError, match="runs/pack lacks 'last_projection_points'; delete the folder"):
        took("projection", "projection", {})


def test_there_is_a_way_for_every_kind_that_is_more_than_a_number():
    assert set(TAKEN) == {"by epoch", "margins", "projection", "regions", "lines", "residuals"}
