import pytest

from labelnoise.errors import InputError
from labelnoise.reproduce import left as module
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.groups import groups
from labelnoise.reproduce.kept import OUTCOMES
from labelnoise.reproduce.left import Left, left, together
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.searching import trials


@pytest.fixture
def known(record):
    return outcomes.read(record({("CE", "none"): (0.90, 0.91)}) / OUTCOMES)


@pytest.mark.parametrize(("seeds", "runs", "there"), [(1, 3, 1), (2, 6, 2), (3, 10, 2)])
def test_runs_are_either_to_be_trained_or_there(tiny, known, seeds, runs, there):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    found = left(group, seeds, known)
    assert (found.runs, found.there, found.tried) == (runs, there, 0)


def test_runs_of_another_recipe_are_not_there(tiny, known):
    (group,) = groups(tiny, tiny.published("table1"), "fast")
    assert left(group, 2, known).there == 0


@pytest.mark.parametrize("finished", [1, 3])
def test_of_a_search_the_points_that_are_left_and_further_seeds_of_the_best_are_to_be_trained(tiny, finished):
    cells = [cell for cell in tiny.published("table1") if (cell.method, cell.noise) == ("GCE", "none")]
    (group,) = groups(tiny, cells, "paper-search")
    points = trials(group).configs[:finished]
    measures = {"last": {"validation/score": 0.9}}
    known = {each.identity: Outcome(each.identity, each.to_dict(), 0.0, None, measures, {}, {}, "") for each in points}
    found = left(group, 3, known)
    assert (found.tried, found.runs, found.there) == (3 - finished, 3 - finished + 2, finished)


def test_where_data_are_missing_all_is_to_be_trained(tiny, known, monkeypatch):
    def missing(*args):
        raise InputError("no data")

    monkeypatch.setattr(module, "trainings", missing)
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    found = left(group, 2, known)
    assert (found.runs, found.there) == (8, 0)


def test_groups_are_counted_together():
    assert together([Left([("ce", 2)], 0, 1), Left([("gce", 3)], 2, 4)]) == Left([("ce", 2), ("gce", 3)], 2, 5)
