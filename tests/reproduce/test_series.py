import numpy as np
import pytest

from labelnoise.errors import InputError
from labelnoise.papers import Cell
from labelnoise.reproduce.series import Series, read, series, table

CELL = Cell("digits", "pair:0.4", 'LN, "full"', 90.0, None, best=False, net="mlp", measure="regions")
GRID = series(CELL, "a1", 3, {"x": np.array([0.5, 1.25]), "p0": np.array([1e-9, 1.0])}, "grid")
POINTS = series(CELL, "a1", 3, {"x": np.array([2.0]), "label": np.array(["7"])}, "points")


def same(first, second):
    return first[:-1] == second[:-1] and {name: column.tolist() for name, column in first.columns.items()} == {
        name: column.tolist() for name, column in second.columns.items()
    }


def test_what_is_written_is_read_again(tmp_path):
    (tmp_path / "a.csv").write_text(table([GRID, POINTS]))
    found = read(tmp_path / "a.csv")
    assert len(found) == 2
    assert same(found[0], GRID)
    assert same(found[1], POINTS)  # a label that looks like a number stays a word


def test_columns_that_a_series_lacks_are_empty():
    head, *lines = table([GRID, POINTS]).splitlines()
    assert head == "data,noise,method,net,measure,run,seed,part,x,p0,label"
    assert lines[0].endswith("a1,3,grid,0.5,1e-09,")
    assert lines[2].endswith("a1,3,points,2,,7")


def test_a_series_knows_its_cell_and_run():
    assert GRID.origin == ("digits", "pair:0.4", 'LN, "full"', "mlp", "regions", "a1")
    assert isinstance(GRID, Series)


def test_columns_are_numbers_in_the_order_they_are_asked_for():
    p0, x = GRID.numbers("p0", "x")
    assert (p0.tolist(), x.tolist()) == ([1e-9, 1.0], [0.5, 1.25])


def test_no_file_is_no_series(tmp_path):
    assert read(tmp_path / "none.csv") == []


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "", table([GRID]).replace("0.5", "half"), table([GRID]) + "short\n"])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match="is not a file of a figure"):
        read(tmp_path / "a.csv")
