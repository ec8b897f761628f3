import numpy as np
import pytest

from labelnoise.data.delimited import read_csv
from labelnoise.errors import InputError


def read(path, text, **columns):
    path.write_bytes(text.encode())
    return read_csv(path, **columns)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_header_tells_the_delimiter(delimiter, end, mark, tmp_path):
    text = mark + end.join([f"a{delimiter}b c", f"1.5{delimiter}x,y" if delimiter != "," else '1.5,"x,y"', ""])
    frame, _ = read(tmp_path / "t.csv", text)
    assert frame.to_dict("list") == {"a": [1.5], "b c": ["x,y"]}


@pytest.mark.parametrize("told", ["sep=;", '"sep=;"', "SEP=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_first_line_may_tell_the_delimiter(told, end, mark, tmp_path):
    frame, origin = read(tmp_path / "t.csv", mark + end.join([told, "a,b;c", "1,5;x", "2;y", ""]), names=["c"])
    assert frame.to_dict("list") == {"a,b": ["1,5", "2"], "c": ["x", "y"]}
    assert [origin.row(row) for row in range(2)] == ["line 3", "line 4"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":", "^"])
def test_any_sign_can_be_told(delimiter, tmp_path):
    frame, _ = read(tmp_path / "t.csv", f"sep={delimiter}\na{delimiter}b\n1{delimiter}2\n")
    assert frame.to_dict("list") == {"a": [1], "b": [2]}


def test_a_table_of_one_column_may_tell_a_delimiter_that_its_names_hold(tmp_path):
    frame, _ = read(tmp_path / "t.csv", "sep=;\nlast name, first name\nx\n")
    assert list(frame.columns) == ["last name, first name"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a;b\n1;2\n1;2;3\n", "line 4: 3 fields, but the header has 2"),
        ("a;b\n1;2\n3\n", "line 4: 1 fields, but the header has 2"),
        ('a;b\n1;2\n3;"4\n', "line 4: a quote is opened and never closed"),
        ("a;b\n", "has a header but no rows"),
        ("", "is empty"),
    ],
)
def test_lines_are_counted_with_that_which_tells_the_delimiter(text, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        read(tmp_path / "t.csv", f"sep=;\n{text}")


def test_a_delimiter_within_quotes_is_none(tmp_path):
    frame, _ = read(tmp_path / "t.csv", '"a,b,c,d";e\n1;2\n')
    assert list(frame.columns) == ["a,b,c,d", "e"]


def test_spaces_around_names_and_before_cells_are_no_part_of_them(tmp_path):
    frame, _ = read(tmp_path / "t.csv", "a, b ,c\n1, x,2\n", names=["b"])
    assert frame.to_dict("list") == {"a": [1], "b": ["x"], "c": [2]}


def test_names_of_two_lines_become_one(tmp_path):
    frame, _ = read(tmp_path / "t.csv", 'a,"b\r\n(cm)"\n1,02\n', names=["b (cm)"])
    assert frame.to_dict("list") == {"a": [1], "b (cm)": ["02"]}


def test_names_and_texts_stay_as_written(tmp_path):
    frame, _ = read(tmp_path / "t.csv", "a,b,c\n01,01,01\n", names=["a"], texts=["b"])
    assert frame.to_dict("list") == {"a": ["01"], "b": ["01"], "c": [1]}


def test_none_may_be_a_name_but_is_no_number(tmp_path):
    frame, _ = read(tmp_path / "t.csv", "a,b\nNone,None\nNA,2\nx,3\n", names=["a"])
    assert frame["a"].isna().tolist() == [False, True, False]
    np.testing.assert_array_equal(frame["b"], [np.nan, 2, 3])


def test_missing_cells_at_the_end_of_full_lines_are_fine(tmp_path):
    frame, _ = read(tmp_path / "t.csv", "a,b\n1,\n2,3\n")
    np.testing.assert_array_equal(frame["b"], [np.nan, 3])


def test_rows_are_called_by_their_lines_in_spite_of_blank_ones_and_of_ends_of_lines_in_quotes(tmp_path):
    _, origin = read(tmp_path / "t.csv", '\na,b\n1,2\n\n"x\ny",3\n4,5\n')
    assert [origin.row(row) for row in range(3)] == ["line 3", "line 5", "line 7"]
    assert origin.name == str(tmp_path / "t.csv")


@pytest.mark.parametrize(("text", "line"), [("a,b\n{},2\n", 2), ("{},b\n1,2\n", 1), ("a,b\n1,2\n{},\n", 3)])
def test_a_field_that_is_too_long_to_be_looked_at_is_refused_with_its_line(text, line, tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path / "t.csv", text.format("x" * 140_000))
    assert str(error.value) == f"{tmp_path}/t.csv, line {line}: a field of more than 131072 characters; shorten it"
