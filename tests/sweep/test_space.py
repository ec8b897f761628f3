import numpy as np
import pytest

from labelnoise.config import Named, Search
from labelnoise.methods.base import hyper_fields
from labelnoise.methods.gce import GCE
from labelnoise.methods.mixup import Mixup
from labelnoise.sweep.space import best, points, trials


def values(name, setting, trials_, kind):
    return [trial.settings[setting] for trial in trials(Named(name), Search(trials_, kind))[1:]]


@pytest.mark.parametrize("kind", ["random", "grid"])
def test_the_settings_as_they_are_come_first(kind):
    assert trials(Named("gce"), Search(5, kind))[0] == Named("gce")
    assert len(trials(Named("gce"), Search(5, kind))) == 5


def test_random_values_lie_in_the_declared_range_and_fill_it():
    span = hyper_fields(GCE)["q"]
    drawn = np.array(values("gce", "q", 201, "random"))
    assert drawn.min() >= span.low
    assert drawn.max() <= span.high
    assert drawn.mean() == pytest.approx((span.low + span.high) / 2, abs=0.06)


def test_a_logarithmic_range_is_searched_on_that_scale():
    span = hyper_fields(Mixup)["alpha"]
    drawn = np.log(values("mixup", "alpha", 401, "random"))
    assert drawn.mean() == pytest.approx((np.log(span.low) + np.log(span.high)) / 2, abs=0.2)


def test_more_trials_begin_with_the_same_ones():
    assert values("gce", "q", 9, "random")[:3] == values("gce", "q", 4, "random")


def test_a_grid_goes_from_end_to_end_in_equal_steps():
    assert values("peer_loss", "alpha", 6, "grid") == pytest.approx([0, 0.5, 1.0, 1.5, 2.0])


def test_a_logarithmic_grid_has_equal_ratios():
    grid = values("mixup", "alpha", 4, "grid")
    assert grid == pytest.approx([0.1, np.sqrt(0.1 * 8), 8], rel=1e-3)


def test_what_was_set_by_hand_is_not_searched():
    assert trials(Named("gce", {"q": 0.3}), Search(5)) == [Named("gce", {"q": 0.3})]


def test_a_method_without_hyper_parameters_has_one_trial():
    assert trials(Named("ce"), Search(5)) == [Named("ce")]
    assert trials(Named("ce"), Search(5, "grid")) == [Named("ce")]


def test_points_are_all_combinations_the_last_setting_fastest():
    found = points(Named("bi_tempered", {"smoothing": 0.1, "t1": 0.3}), {"t1": (0.5, 0.7), "t2": (1.1, 2)})
    assert [(each.settings["t1"], each.settings["t2"]) for each in found] == [
        (0.5, 1.1),
        (0.5, 2),
        (0.7, 1.1),
        (0.7, 2),
    ]
    assert all(each.name == "bi_tempered" and each.settings["smoothing"] == 0.1 for each in found)


def test_a_method_without_a_grid_has_one_point():
    assert points(Named("gce", {"q": 0.3}), {}) == [Named("gce", {"q": 0.3})]


@pytest.mark.parametrize(
    ("scores", "winner"),
    [
        ({"a": 0.1, "b": 0.3, "c": 0.2}, "b"),
        ({"c": 0.3, "b": 0.3, "a": 0.1}, "b"),  # the earliest tried, however scores are ordered
        ({"c": 0.2}, "c"),
        ({}, "a"),
    ],
)
def test_the_best_is_the_earliest_tried_of_equals(scores, winner):
    assert best(["a", "b", "c"], scores) == winner
