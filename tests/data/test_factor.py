import numpy as np
import pandas as pd
import pytest

from labelnoise.data.factor import Origin, factor, is_categorical, is_formula
from labelnoise.errors import InputError

ORIGIN = Origin("the table")


@pytest.mark.parametrize(
    ("values", "codes", "names"),
    [
        (["b", "a", None, "b"], [0, 1, -1, 0], ("b", "a")),
        ([3.0, np.nan, 1.0, 3.0], [0, -1, 1, 0], ("3", "1")),
        ([0.5, 2.0], [0, 1], ("0.5", "2")),
        ([True, False], [0, 1], ("True", "False")),
        ([b"ab", b"a"], [0, 1], ("ab", "a")),
        (["a", "", "b"], [0, -1, 2], ("a", "", "b")),
        ([1, "1", 1.0], [0, 0, 0], ("1",)),
        ([[1], [2], [1]], [0, 1, 0], ("[1]", "[2]")),
        (pd.Categorical(["u", None, "v"], ["v", "w", "u"]), [2, -1, 0], ("v", "w", "u")),
        (np.array(["x", "y"]), [0, 1], ("x", "y")),
    ],
)
def test_cells_are_numbered_by_what_they_say(values, codes, names):
    found = factor(values, ORIGIN, "c")
    assert found.codes.tolist() == codes
    assert found.names == names


def test_names_are_counted():
    assert factor(pd.Categorical(["u", None, "v", "u"], ["v", "w", "u"]), ORIGIN, "c").counts.tolist() == [1, 0, 2]


def test_the_first_row_of_some_names_is_found():
    assert factor(["a", None, "c", "b"], ORIGIN, "c").first(np.array([False, True, True])) == 2


@pytest.mark.parametrize("cell", ["=1+1", "=A1", "=SUM(A1:A3)"])
def test_formulas_are_refused_with_their_cell(cell):
    with pytest.raises(InputError) as error:
        factor(["a", cell], ORIGIN, "c")
    assert str(error.value) == (
        f"the table, row 1, column 'c': {cell!r} is a spreadsheet formula; "
        "export values, not formulas, or leave the column out with data.drop=['c']"
    )


@pytest.mark.parametrize("cell", ["=A1", "@SUM(1)", "+cmd|' /C calc'!A0", "-2+3!A"])
def test_names_that_are_repeated_may_be_nothing_that_a_spreadsheet_runs(cell):
    with pytest.raises(InputError, match=r"export values, not formulas, or rename it$"):
        factor([cell], ORIGIN, "c", repeated=True)


@pytest.mark.parametrize("cell", ["@user0 awful show!", "-5 degrees (outside)", "+1 (a lot)", "- a | b"])
def test_ordinary_texts_are_taken(cell):
    assert factor([cell], ORIGIN, "c").names == (cell,)


def test_spaces_do_not_hide_a_formula():
    assert is_formula(" \t=A1")
    assert not is_formula(" a=1")


@pytest.mark.parametrize("cell", ["-1", "+49 30 1", "@home", "a=b", "-", "f(x)"])
def test_texts_that_only_begin_like_a_formula_are_taken(cell):
    assert factor([cell], ORIGIN, "c").names == (cell,)


def test_only_a_categorical_has_an_order():
    assert is_categorical(pd.Series(["a"], dtype="category"))
    assert not is_categorical(pd.Series(["a"]))
    assert not is_categorical(["a"])


def test_a_row_is_called_as_its_origin_calls_it():
    assert Origin("my.csv", lambda row: f"line {row + 2}").at(3) == "my.csv, line 5"
    assert Origin("x").at(3, "a b") == "x, row 3, column 'a b'"


@pytest.mark.parametrize(
    ("setting", "typed", "written"),
    [("id_column", True, "--id-column"), ("drop", True, "data.drop"), ("id_column", False, "id_column")],
)
def test_a_setting_is_written_as_a_command_or_python_has_it(setting, typed, written):
    assert Origin("x", typed=typed).written(setting) == written
