import pytest

from labelnoise.reproduce.groups import groups
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.searching import decide, scores, trials, validated


def outcome(run, score, failed=None):
    measures = {} if failed else {"last": {"validation/score": score}, "selected": {"validation/score": 1 - score}}
    return Outcome(run, {}, 0.4, failed, measures, {}, {}, "")


@pytest.fixture
def tried(tiny):
    (group,) = groups(tiny, tiny.published("table1"), "paper-search")
    return trials(group)


def known(tried, *values):
    """One score for each point of the first cell, and a 0 for those of others."""
    runs = [config.identity for config in tried.configs]
    return {run: outcome(run, score) for run, score in zip(runs, (*values, *[0.0] * len(runs)), strict=False)}


def chosen(tried, found, rule="last"):
    cell = tried.runs[0][0]
    (method,) = decide(tried, found, rule)[cell]
    return method.settings["q"]


def test_what_has_a_grid_is_tried_with_the_first_seed(tried):
    assert [(cell.method, cell.noise) for cell, _ in tried.runs] == [("GCE", "none"), ("GCE", "symmetric:0.4")]
    for _, configs in tried.runs:
        assert [(config.method.settings["q"], config.seed) for config in configs] == [(0.4, 0), (0.6, 0), (0.8, 0)]


@pytest.mark.parametrize("recipe", ["paper", "fast"])
def test_without_a_search_nothing_is_tried(tiny, recipe):
    (group,) = groups(tiny, tiny.published("table1"), recipe)
    assert trials(group) is None


@pytest.mark.parametrize(
    ("values", "winner"),
    [((0.5, 0.7, 0.6), 0.6), ((0.5, 0.6, 0.7), 0.8), ((0.7, 0.7, 0.7), 0.4), ((0.5, 0.7, 0.7), 0.6)],
)
def test_the_highest_accuracy_on_noisy_validation_decides_the_first_of_equals(tried, values, winner):
    assert chosen(tried, known(tried, *values)) == winner


def test_it_decides_at_the_epoch_of_the_rule(tried):
    assert [chosen(tried, known(tried, 0.3, 0.4, 0.5), rule) for rule in ("last", "selected")] == [0.8, 0.4]


def test_each_noise_has_a_choice_of_its_own(tried):
    found = decide(tried, known(tried, 0.1, 0.2, 0.3, 0.3, 0.2, 0.1), "last")
    assert [method.settings["q"] for (method,) in found.values()] == [0.8, 0.4]


def test_runs_that_failed_or_are_missing_have_no_score(tried):
    first, second, third = (config.identity for config in tried.runs[0][1])
    found = {first: outcome(first, 0.9, failed=(0, 1)), third: outcome(third, 0.2)}
    assert scores([first, second, third], found, "last") == {third: 0.2}
    assert chosen(tried, found) == 0.8


def test_where_nothing_is_finished_the_first_point_stands(tried):
    assert chosen(tried, {}) == 0.4


def test_rows_of_noisy_validation_are_those_of_the_split(tried):
    assert validated(tried) == pytest.approx(0.1 * 1797, abs=1)
