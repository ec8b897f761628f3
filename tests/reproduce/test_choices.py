import csv
from io import StringIO
from math import sqrt

import pytest

from labelnoise.papers import Cell
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.choices import HEAD, TITLE, Choice, markdown, read, rows, table
from labelnoise.reproduce.kept import OUTCOMES, Made, note
from labelnoise.reproduce.outcomes import Outcome

ROWS = 100
TOP = 0.8
ERROR = sqrt(TOP * (1 - TOP) / ROWS)
CELL = Cell("mnist", "random:0.4:exact", "LN", 97.2, 0.1, best=True)
CHOICE = Choice(CELL, {"temperature": 0.5, "floor": 1}, {"temperature": 1.0, "floor": 1.0}, 0.8123, 9, 8, 3, 1)


def run(identity, q, score, failed=None):
    config = {"data": {"source": "digits"}, "noise": "none", "method": {"name": "gce", "settings": {"q": q}}, "seed": 0}
    return Outcome(identity, config, 0.4, failed, {} if failed else {"last": {"validation/score": score}}, {}, {}, "")


def made(tiny, folder, *runs, tried="abc"):
    """The choice of the cell GCE without noise, for which the authors took q = 0.4."""
    outcomes.keep(folder / OUTCOMES, runs)
    source, (*_, cell, _) = Table(tiny, "table1"), tiny.published("table1")
    note(folder, source, "paper-search", [(cell, Made(("a",), tuple(tried), ROWS))])
    (found,) = read(source, tiny.published("table1"), "paper-search", folder)
    return found


def test_a_choice_has_ours_and_theirs_and_the_accuracy_that_decided(tiny, tmp_path):
    found = made(tiny, tmp_path, run("a", 0.4, 0.5), run("b", 0.6, TOP), run("c", 0.8, 0.6))
    assert (found.ours, found.theirs, found.score) == ({"q": 0.6}, {"q": 0.4}, TOP)
    assert (found.points, found.finished, found.near, found.tied) == (3, 3, 0, 0)


@pytest.mark.parametrize(("below", "near", "tied"), [(0.0, 1, 1), (0.99, 1, 0), (1.01, 0, 0)])
def test_others_within_one_standard_error_are_counted(tiny, tmp_path, below, near, tied):
    other = TOP - below * ERROR
    found = made(tiny, tmp_path, run("a", 0.4, TOP), run("b", 0.6, other), run("c", 0.8, 0.1))
    assert (found.ours, found.near, found.tied) == ({"q": 0.4}, near, tied)


def test_of_equals_the_first_tried_is_ours(tiny, tmp_path):
    assert made(tiny, tmp_path, run("a", 0.4, TOP), run("b", 0.6, TOP), tried="ba").ours == {"q": 0.6}


def test_points_that_failed_are_no_choice(tiny, tmp_path):
    found = made(tiny, tmp_path, run("a", 0.4, 0.0, failed=(0, 1)), run("b", 0.6, 0.2))
    assert (found.ours, found.points, found.finished) == ({"q": 0.6}, 3, 1)
    gone = made(tiny, tmp_path, run("a", 0.4, 0.0, failed=(0, 1)))
    assert (gone.score, gone.finished, gone.near, gone.tied) == (None, 0, 0, 0)


def test_cells_that_were_not_searched_have_no_choice(tiny, tmp_path):
    cells = tiny.published("table1")
    note(tmp_path, Table(tiny, "table1"), "paper-search", [(cells[0], Made(("a",)))])
    assert read(Table(tiny, "table1"), cells, "paper-search", tmp_path) == []


def test_a_row_says_what_was_chosen_and_how_clearly():
    (row,) = rows([CHOICE])
    assert dict(zip(HEAD, row, strict=True)) == {
        "data": "mnist",
        "noise": "random:0.4:exact",
        "method": "LN",
        "ours": "temperature=0.5 floor=1",
        "theirs": "temperature=1 floor=1",
        "on validation": "81.23",
        "points": "8 of 9",
        "within one standard error": "3",
        "tied": "1",
    }


def test_what_nobody_knows_is_a_dash():
    (row,) = rows([CHOICE._replace(ours={}, theirs={}, score=None)])
    assert row[3:6] == ("–", "–", "–")


def test_markdown_is_a_table_under_its_title_and_nothing_without_choices():
    title, _, head, _, line = markdown([CHOICE]).splitlines()
    assert (title, head.count("|"), line.count("|")) == (TITLE, len(HEAD) + 1, len(HEAD) + 1)
    assert markdown([]) == ""


def test_numbers_are_there_for_programs():
    (row,) = csv.DictReader(StringIO(table("tiny/table1", "paper-search", [CHOICE])))
    assert (row["table"], row["recipe"], row["method"]) == ("tiny/table1", "paper-search", "LN")
    assert (row["ours"], row["theirs"]) == ("temperature=0.5 floor=1", "temperature=1 floor=1")
    assert [float(row[name]) for name in ("score", "points", "finished", "near", "tied")] == [0.8123, 9, 8, 3, 1]
