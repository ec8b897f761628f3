import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelnoise.errors import InputError
from labelnoise.reviewing.spreadsheet import guarded, plain, read_table, write_data, write_table

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=cmd|" /C calc"!A0', "'=1", "''-1"]
HARMLESS = ["a", "", "'", "'a", "1", "a=b", "x-1", " =1", "é"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_begins_like_a_formula_has_an_apostrophe_before_it(text):
    assert guarded(text) == "'" + text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay(text):
    assert guarded(text) == text
    assert plain(text) == text


@given(st.text(alphabet="'=+-@\t\ra1 ", max_size=6))
def test_what_was_guarded_comes_back_exactly(text):
    assert plain(guarded(text)) == text


def test_no_two_texts_are_guarded_alike():
    texts = {a + b + c for a in "'=a" for b in "'=a" for c in "'=a"}
    assert len({guarded(text) for text in texts}) == len(texts)


def test_a_table_comes_back_cell_by_cell(tmp_path):
    cells = [*FORMULAS, *HARMLESS[:1], "a,b", 'say "x"', "two\nlines", "é", "\udcff"]
    write_table(tmp_path / "t.csv", ["id", "text"], ((str(n), cell) for n, cell in enumerate(cells)))
    assert [row["text"] for _, row in read_table(tmp_path / "t.csv")] == cells


def test_negative_numbers_stay_numbers(tmp_path):
    write_table(tmp_path / "t.csv", ["n"], [[-0.5]])
    assert (tmp_path / "t.csv").read_text("utf-8-sig").splitlines() == ["n", "-0.5"]


def test_no_cell_of_a_written_table_begins_like_a_formula(tmp_path):
    write_table(tmp_path / "t.csv", ["=h"], [[text] for text in FORMULAS])
    with (tmp_path / "t.csv").open(encoding="utf-8-sig", newline="") as file:
        assert all(row[0][0] not in "=+-@\t\r" for row in csv.reader(file))


def test_data_for_programs_stay_as_they_are(tmp_path):
    write_data(tmp_path / "t.csv", ["label"], [["-1"]])
    assert (tmp_path / "t.csv").read_bytes() == b"label\r\n-1\r\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiters_of_spreadsheets_are_understood(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text(f"id{delimiter}given\r\n1{delimiter}a\r\n\r\n2{delimiter}\r\n")
    found = list(read_table(tmp_path / "t.csv"))
    assert found == [(2, {"id": "1", "given": "a"}), (4, {"id": "2", "given": ""})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_the_encodings_of_spreadsheets_are_understood(tmp_path, encoding):
    text = "id\tgiven\r\n1\té\r\n2\t猫\r\n"
    (tmp_path / "t.csv").write_bytes((("\ufeff" if encoding == "utf-16-be" else "") + text).encode(encoding))
    assert [row["given"] for _, row in read_table(tmp_path / "t.csv")] == ["é", "猫"]


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
def test_a_first_line_that_names_the_delimiter_is_no_header(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"{first}\r\nid;a,b,c\r\n1;x\r\n")
    assert list(read_table(tmp_path / "t.csv")) == [(3, {"id": "1", "a,b,c": "x"})]


def test_a_row_with_too_many_fields_is_refused_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_text("id,given\n1,a\n2,a,b\n")
    with pytest.raises(InputError, match=r"t\.csv, line 3: 3 fields"):
        list(read_table(tmp_path / "t.csv"))


def test_a_cell_beyond_all_measure_is_refused_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_text(f"id,given\n1,{'x' * (csv.field_size_limit() + 1)}\n")
    with pytest.raises(InputError, match=r"t\.csv, line 2: .*; mend the line"):
        list(read_table(tmp_path / "t.csv"))


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        list(read_table(tmp_path / "none.csv"))
