import pytest

from labelnoise.errors import InputError
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.kept import CELLS, OUTCOMES, Made, besides, finished, made, note
from labelnoise.reproduce.outcomes import Outcome

CONFIG = {"data": {"source": "digits"}, "noise": "none", "method": {"name": "ce", "settings": {}}}


def run(identity, accuracy, failed=None):
    measures = {} if failed else {"last": {"test/accuracy_true": accuracy}}
    return Outcome(identity, CONFIG | {"seed": 0}, 0.4, failed, measures, {}, {}, "")


@pytest.fixture
def folder(tiny, tmp_path):
    outcomes.keep(tmp_path / OUTCOMES, [run("a", 0.8), run("b", 0.9), run("c", 0.0, failed=(0, 1)), run("d", 0.5)])
    first, second, *_ = tiny.published("table1")
    note(tmp_path, Table(tiny, "table1"), "paper", [(first, Made(("a", "b", "c"))), (second, Made(("d", "e")))])
    return tmp_path


def test_a_cell_has_the_runs_it_is_made_of_as_far_as_they_are_finished(tiny, folder):
    first, second, third, _ = besides(Table(tiny, "table1"), tiny.published("table1"), "paper", folder)
    assert (first.reached.mean, first.reached.runs, first.failed) == (pytest.approx(85.0), 2, 1)
    assert (second.reached.mean, second.reached.runs) == (50.0, 1)
    assert third.reached is None


def test_finished_runs_come_in_the_order_of_their_seeds(tiny, folder):
    found = finished(Table(tiny, "table1"), tiny.published("table1"), "paper", folder)
    assert [[run.run for run in runs] for runs in found.values()] == [["a", "b", "c"], ["d"], [], []]


def test_recipes_are_kept_apart(tiny, folder):
    cells = tiny.published("table1")
    note(folder, Table(tiny, "table1"), "fast", [(cells[0], Made(("d",)))])
    found = [besides(Table(tiny, "table1"), cells[:1], recipe, folder)[0].reached.mean for recipe in ("paper", "fast")]
    assert found == [pytest.approx(85.0), 50.0]


def test_a_cell_that_is_noted_again_has_its_new_runs(tiny, folder):
    cells = tiny.published("table1")
    note(folder, Table(tiny, "table1"), "paper", [(cells[0], Made(("d",)))])
    assert besides(Table(tiny, "table1"), cells[:1], "paper", folder)[0].reached.runs == 1
    assert len((folder / CELLS).read_text().splitlines()) == 2


def test_a_measure_that_was_not_taken_is_missing(tiny, folder):
    cell = tiny.published("table2")[0]
    note(folder, Table(tiny, "table2"), "paper", [(cell, Made(("a",)))])
    assert besides(Table(tiny, "table2"), [cell], "paper", folder)[0].reached is None


def test_a_damaged_file_is_refused(tiny, folder):
    (folder / CELLS).write_text("{}\n")
    with pytest.raises(InputError, match="is not a file of cells"):
        besides(Table(tiny, "table1"), tiny.published("table1"), "paper", folder)


def test_fewer_seeds_of_the_same_do_not_take_away_what_is_there(tiny, folder):
    cells = tiny.published("table1")
    note(folder, Table(tiny, "table1"), "paper", [(cells[0], Made(("a",)))])
    assert besides(Table(tiny, "table1"), cells[:1], "paper", folder)[0].reached.runs == 2


def test_what_a_search_tried_is_kept_and_read_again(tiny, folder):
    table, (first, second, *_) = Table(tiny, "table1"), tiny.published("table1")
    whole = Made(("b", "d"), tried=("a", "b"), validation_rows=180)
    note(folder, table, "paper-search", [(first, whole), (second, Made(("d",)))])
    assert made(table, [first, second], "paper-search", folder) == {first: whole, second: Made(("d",))}


@pytest.mark.parametrize(("noted", "asked"), [("paper-search", "paper"), ("paper", "paper-search")])
def test_searched_cells_are_not_read_as_others_nor_the_reverse(tiny, tmp_path, noted, asked):
    table, cells = Table(tiny, "table1"), tiny.published("table1")
    outcomes.keep(tmp_path / OUTCOMES, [run("a", 0.8)])
    note(tmp_path, table, noted, [(cell, Made(("a",), tried=("a",), validation_rows=180)) for cell in cells])
    assert all(each.reached for each in besides(table, cells, noted, tmp_path))
    assert not any(each.reached for each in besides(table, cells, asked, tmp_path))
    assert set(made(table, cells, asked, tmp_path).values()) == {Made()}


def test_a_file_without_any_search_says_nothing_of_one(folder):
    assert "tried" not in (folder / CELLS).read_text()
