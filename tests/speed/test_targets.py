import pytest

from labelnoise.methods import METHODS
from labelnoise.speed.figure import Figure
from labelnoise.speed.rows import ROWS
from labelnoise.speed.targets import TARGETS, Target, backbones, reached, sentence, targets


def test_every_target_is_of_a_row_that_exists():
    assert {row for row, _ in TARGETS} <= set(ROWS)


@pytest.mark.parametrize(
    ("row", "key", "of", "bound"),
    [
        ("lenet5-ce", "many", "", 1_800_000),
        ("lenet5-ce", "many", "plain loop", 60),
        ("lenet5-gce", "many", "ce", 0.6),
        ("lenet5-peer_loss", "many", "ce", 0.6),
        ("lenet5-co_teaching", "many", "ce", 0.45),
        ("wrn_28_2-ce", "one", "", 46_000),
        ("wrn_28_2-logistic_normal", "one", "ce", 0.95),
        ("wrn_28_2-ce", "many", "", 80_000),
        ("resnet34", "many", "", 115_000),
        ("lenet5_same", "many", "", 850_000),
        ("mnist", "seconds", "", 270),
        ("cifar10", "rate", "", 68_000),
        ("start", "again", "", 20),
        ("mnist", "host", "", 3),
        ("host", "host", "", 3),
    ],
)
def test_what_is_wanted_of_an_h200(row, key, of, bound):
    assert bound in [target.bound for target in targets(row, key) if target.of == of]


def test_methods_of_several_networks_and_one_of_many_samples_need_not_be_as_fast_as_others():
    without = [method for method in METHODS if Target(0.6, "ce") not in targets(f"lenet5-{method}", "many")]
    assert without == ["causal_nl", "ce", "co_teaching", "decoupling", "distillation", "heteroscedastic"]


@pytest.mark.parametrize(("method", "count"), [("ce", 1), ("mentor_net", 1), ("co_teaching", 2), ("distillation", 2)])
def test_networks_of_the_asked_for_kind_are_counted(method, count):
    assert backbones(method) == count


def test_the_share_of_a_lower_bound_is_the_figure_over_it():
    figure = Figure("", 1_600_000, "images/s", {"plain loop": 90.0}, "many")
    assert [share for _, share in reached("lenet5-ce", figure)] == [pytest.approx(8 / 9), 1.5]


def test_the_share_of_an_upper_bound_is_the_bound_over_the_figure():
    assert [share for _, share in reached("start", Figure("", 10.0, "s", key="again"))] == [2.0]


def test_a_figure_that_was_not_measured_reaches_nothing():
    assert reached("lenet5-ce", Figure("", None, "images/s", key="many")) == []


def test_the_sentence_says_whether_a_target_is_met():
    assert sentence(Target(60, "plain loop"), 0.5) == "wanted of an H200, at least 60 × plain loop: MISSED, 50 %"
    bound = Target(20, most=True)
    assert sentence(bound, 2.0) == "wanted of an H200, at most 20: reached, 50 % of what is allowed"
    assert sentence(bound, 0.8) == "wanted of an H200, at most 20: MISSED, 125 % of what is allowed"
