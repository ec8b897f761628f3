import pytest

from labelnoise.engine.checkpoint import save
from labelnoise.errors import InputError
from labelnoise.reproduce import left as module
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.groups import groups, trainings
from labelnoise.reproduce.kept import OUTCOMES
from labelnoise.reproduce.left import Left, interrupted, left, together
from labelnoise.reproduce.outcomes import Outcome
from labelnoise.reproduce.searching import trials
from labelnoise.results.record import Record
from labelnoise.results.store import Journal


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
    both = together([Left([("ce", 2)], 0, 1, 5), Left([("gce", 3)], 2, 4)])
    assert both == Left([("ce", 2), ("gce", 3)], 2, 5, 5)


def test_epochs_that_are_done_of_runs_to_be_trained_are_counted(tiny, known):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    begun = dict.fromkeys((config.identity for config in trainings(group, 2).configs), 1) | {"of another table": 7}
    found = left(group, 2, known, begun)
    assert (found.runs, found.there, found.begun) == (6, 2, 6)


def test_epochs_of_a_run_that_was_left_are_those_before_its_checkpoint(tiny, tmp_path):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    places = ((group.name, "ce-1"), (group.name, "ce-2"), ("another group", "ce-3"))
    finished, unfinished, other = (Journal(tmp_path / folder / name) for folder, name in places)
    for journal in (finished, unfinished, other):
        journal.folder.mkdir(parents=True)
        journal.write([Record("a", "ce", 0, "train", epoch, {}) for epoch in range(4)])
    unfinished.write([Record("b", "ce", 1, "train", 0, {})])
    for journal in (unfinished, other):
        save(journal.checkpoint, {}, {"position": (0, 3, 7)})
    assert interrupted([group], tmp_path) == {"a": 3, "b": 1}
