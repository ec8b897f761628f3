import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelnoise.reviewing.verbatim import Verbatim, is_blank, value

TEXTS = [
    "a,b\n1,2\n",
    'a,b\r\n"x, y","say ""no"""\r\n\r\n  "q",2\r\n',
    "a,b\n1,",
    "a,b\r1,2\r",
    'a,b\n"two\nlines",3',
    '\ufeffa,b\n1,""\n',
]


def opened(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return Verbatim.read(path)


def joined(held):
    return held.mark + "".join(held.delimiter.join(cells) + end for cells, end in held.records())


@pytest.mark.parametrize("text", TEXTS)
def test_cells_and_ends_together_are_the_file(text, tmp_path):
    assert joined(opened(text, tmp_path)) == text


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_first_line_that_tells_the_delimiter_stays_and_is_no_row(mark, tmp_path):
    held = opened(text := f"{mark}sep=;\r\na,b;c\r\n1,5;x\r\n", tmp_path)
    assert joined(held) == text
    assert [cells for cells, _ in held.records()] == [["a,b", "c"], ["1,5", "x"]]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_that_the_csv_module_reads(text, tmp_path):
    plain = text.removeprefix("\ufeff")
    expected = [row or [""] for row in csv.reader(io.StringIO(plain, newline=""), skipinitialspace=True)]
    assert [[value(cell) for cell in cells] for cells, _ in opened(text, tmp_path).records()] == expected


@settings(max_examples=200)
@given(st.lists(st.lists(st.text(alphabet='a",; \n\r', max_size=5), min_size=2, max_size=3), min_size=1, max_size=4))
def test_whatever_the_csv_module_writes_is_read_alike(rows):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    held = Verbatim(",", "", text.getvalue())
    assert joined(held) == text.getvalue()
    assert [[value(cell) for cell in cells] for cells, _ in held.records()] == rows


def test_a_new_cell_is_quoted_as_the_old_one_was_or_must_be():
    held = Verbatim(";", "", "")
    assert held.written("x", like="y") == "x"
    assert held.written("x", like=' "y"') == ' "x"'
    assert held.written("a;b") == '"a;b"'
    assert held.written('say "a"') == '"say ""a"""'
    assert held.written(" a") == '" a"'


@pytest.mark.parametrize(("cells", "blank"), [(["  "], True), ([""], True), (["", ""], False), (["a"], False)])
def test_blank_lines_hold_no_row(cells, blank):
    assert is_blank(cells) is blank
