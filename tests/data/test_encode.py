import json
import math
from statistics import fmean, median, pstdev

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from labelnoise.config import Data
from labelnoise.data import read, read_inputs
from labelnoise.data.encode import fit, listed, transform
from labelnoise.data.factor import Origin
from labelnoise.errors import InputError

ORIGIN = Origin("the table")


def both(frame, categorical=()):
    columns, left_out = fit(frame, ORIGIN, categorical)
    x, filled = transform(frame, columns, ORIGIN)
    return columns, x, left_out + filled


def test_numbers_are_filled_with_the_median_and_standardised():
    columns, x, notes = both(pd.DataFrame({"a": [1, np.nan, 3, 8]}))
    # median 3; then mean (1 + 3 + 3 + 8) / 4 = 15 / 4 and variance (121 + 9 + 9 + 289) / 16 / 4 = 107 / 16
    spread = math.sqrt(107) / 4
    assert columns == [
        {"name": "a", "kind": "number", "fill": 3, "mean": 3.75, "std": pytest.approx(spread, abs=1e-15)}
    ]
    np.testing.assert_allclose(x[:, 0], np.array([-2.75, -0.75, -0.75, 4.25]) / spread, rtol=1e-6)
    assert notes == ["column 'a': 1 missing value is filled with the median 3"]


def test_texts_become_one_column_per_value_in_alphabetical_order_and_one_for_missing():
    columns, x, notes = both(pd.DataFrame({"c": ["red", "blue", None, "red"], "d": ["u", "v", "u", "u"]}))
    assert [column["values"] for column in columns] == [["blue", "red", None], ["u", "v"]]
    assert x.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [0, 1, 0, 1, 0]]
    assert notes == []


def test_truth_values_are_one_or_zero():
    columns, x, _ = both(pd.DataFrame({"b": [True, False, True]}))
    assert columns == [{"name": "b", "kind": "boolean", "fill": 1}]
    assert x.tolist() == [[1], [0], [1]]


def test_truth_values_of_which_some_are_missing_are_names():
    columns, _, _ = both(pd.DataFrame({"b": [True, None, False]}, dtype=object))
    assert columns == [{"name": "b", "kind": "category", "values": ["False", "True", None]}]


@pytest.mark.parametrize("spelling", [str, str.lower, str.upper])
def test_truth_values_of_which_some_are_missing_are_told_apart_however_files_spell_them(tmp_path, spelling):
    cells = ["True", "False", "", "False", "True", "True"]
    lines = "".join(f"{spelling(cell)},{n % 4},{'ab'[n % 2]}\n" for n, cell in enumerate(cells))
    path = tmp_path / "all.csv"
    path.write_text(f"b,n,label\n{lines}")
    whole = read(path)
    assert "b (true or false)" in whole.notes[0]
    new = read_inputs(path, whole.encoding)
    assert np.array_equal(new.x, whole.x)
    assert whole.x[:, :3].tolist() == [[cell == value for value in ("False", "True", "")] for cell in cells]
    assert new.notes == ()


def test_numbers_are_names_if_so_asked_or_categorical():
    frame = pd.DataFrame({"a": [10, 9, 9], "b": [2.0, np.nan, 1.0], "c": pd.Categorical([5, 1, 5], [5, 7, 1])})
    columns, _, _ = both(frame, {"a", "b"})
    assert [column["values"] for column in columns] == [["10", "9"], ["1", "2", None], ["5", "1"]]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([None] * 101, "column 'a' is left out: it is empty"),
        ([np.nan] * 101, "column 'a' is left out: it is empty"),
        ([2.5] * 101, "column 'a' is left out: it is always 2.5"),
        ([2.5, None] + [2.5] * 99, "column 'a' is left out: it is always 2.5"),
        (["u"] * 101, "column 'a' is left out: it is always 'u'"),
        ([True] * 101, "column 'a' is left out: it is always True"),
        ([1e-200, 2e-200] + [1e-200] * 99, "column 'a' is left out: it is always about 1e-200"),
        (
            [f"u{i}" for i in range(101)],
            "column 'a' is left out: 101 different texts; sentences can be audited by vectors of them (--embeddings), "
            "names are kept with data.categorical=['a']",
        ),
    ],
)
def test_columns_that_tell_nothing_are_left_out_with_a_note(cells, note):
    columns, _, notes = both(pd.DataFrame({"a": cells, "b": [0, 1] * 50 + [0]}))
    assert [column["name"] for column in columns] == ["b"]
    assert notes == [note]


def test_a_hundred_different_texts_are_categories():
    columns, _, _ = both(pd.DataFrame({"a": [f"u{i}" for i in range(100)]}))
    assert len(columns[0]["values"]) == 100


def test_more_than_a_hundred_different_texts_are_categories_if_so_asked():
    columns, _, notes = both(pd.DataFrame({"a": [f"u{i:03}" for i in range(101)]}), ["a"])
    assert columns[0]["values"] == [f"u{i:03}" for i in range(101)]
    assert notes == []


@pytest.mark.parametrize(
    ("cells", "noted"),
    [
        (range(10), True),
        ([float(i) for i in range(7, 17)], True),
        ([str(i) for i in range(1, 11)], True),
        (range(9), False),
        (range(0, 20, 2), False),
        (range(10, 0, -1), False),
        ([*range(9), None], False),
        ([*map(str, range(9)), ""], False),
    ],
)
def test_a_column_that_counts_the_rows_is_remarked_on(cells, noted):
    _, notes = fit(pd.DataFrame({"a": cells}), ORIGIN)
    assert notes == ["column 'a' counts the rows: if it is an id, name it with --id-column"] * noted


def test_columns_that_are_inputs_are_listed_up_to_twenty():
    columns = [{"name": f"c{i}", "kind": "number"} for i in range(21)]
    assert listed(columns[:1]) == "inputs are made of 1 column: c0 (numbers)"
    assert listed(columns[:2]) == "inputs are made of 2 columns: c0, c1 (numbers)"
    names = ", ".join(f"c{i}" for i in range(20))
    assert listed(columns[:20]) == f"inputs are made of 20 columns: {names} (numbers)"
    assert listed(columns) == f"inputs are made of 21 columns: {names} (numbers); …"


def test_columns_that_are_inputs_are_listed_by_what_is_in_them():
    frame = pd.DataFrame({"city": ["u", "v"], "size": [1, 2], "member": [True, False], "day": ["x", "y"]})
    assert listed(fit(frame, ORIGIN)[0]) == (
        "inputs are made of 4 columns: city, day (texts); size (numbers); member (true or false)"
    )


def test_names_of_image_files_are_no_inputs_unless_so_asked():
    frame = pd.DataFrame({"scan": ["a.png", "b.JPG", None, "a.png"], "note": ["a.png", "b", "c", "b"]})
    columns, notes = fit(frame, ORIGIN)
    assert [column["name"] for column in columns] == ["note"]
    assert notes == ["column 'scan' is left out: it names image files; learn from these with data.image_column='scan'"]
    columns, notes = fit(frame, ORIGIN, ["scan"])
    assert (columns[0]["values"], notes) == (["a.png", "b.JPG", None], [])


def test_texts_that_are_all_numbers_are_numbers():
    columns, x, _ = both(pd.DataFrame({"a": ["1", "3", "12345678901234567890123"]}))
    assert columns[0]["kind"] == "number"
    assert x[2, 0] == pytest.approx(math.sqrt(2), abs=1e-6)


def test_a_text_of_which_half_are_numbers_is_a_category():
    columns, _, _ = both(pd.DataFrame({"a": ["1", "u", "1", "v"]}))
    assert columns[0]["values"] == ["1", "u", "v"]


def test_a_text_of_which_most_are_numbers_is_refused():
    with pytest.raises(InputError) as error:
        both(pd.DataFrame({"a": ["1", "u", "1"]}))
    assert str(error.value) == (
        "the table, row 1, column 'a': 'u' is no number, although most cells are; mend it, "
        "or take the column as names with data.categorical=['a']"
    )


TRAINED, _ = fit(
    pd.DataFrame({"n": [1.0, 3.0, 2.0], "c": ["u", "v", "v"], "m": ["u", "v", None], "b": [True, False, True]}), ORIGIN
)
ROW = {"n": [2], "c": ["u"], "m": ["u"], "b": [True]}


@pytest.mark.parametrize(
    ("cells", "values", "notes"),
    [
        ({}, [0, 1, 0, 1, 0, 0, 1], []),
        ({"n": [None]}, [0, 1, 0, 1, 0, 0, 1], ["column 'n': 1 missing value is filled with the median 2"]),
        ({"n": ["2.0"]}, [0, 1, 0, 1, 0, 0, 1], []),
        ({"b": [None]}, [0, 1, 0, 1, 0, 0, 1], ["column 'b': 1 missing value is filled with the more frequent 1"]),
        ({"b": ["false"]}, [0, 1, 0, 1, 0, 0, 0], []),
        ({"b": [0]}, [0, 1, 0, 1, 0, 0, 0], []),
        ({"m": [None]}, [0, 1, 0, 0, 0, 1, 1], []),
        (
            {"c": ["w"]},
            [0, 0, 0, 1, 0, 0, 1],
            ["column 'c': 1 row holds a value unknown in training, such as 'w', taken as none of them"],
        ),
        (
            {"c": [None]},
            [0, 0, 0, 1, 0, 0, 1],
            ["column 'c': 1 row holds a value unknown in training, such as missing, taken as none of them"],
        ),
    ],
)
def test_new_cells_are_taken_as_the_training_cells_were(cells, values, notes):
    x, said = transform(pd.DataFrame(ROW | cells), TRAINED, ORIGIN)
    assert x.tolist() == [values]
    assert said == notes


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"n": ["?"]}, "the table, row 0, column 'n': '?' is no number; mend the cell"),
        ({"n": [np.inf]}, "the table, row 0, column 'n': the number is infinite; mend it, or leave the cell empty"),
        ({"n": [1e300]}, "the table, row 0, column 'n': 1e+300 is too large a number; mend the cell"),
        ({"b": ["yes"]}, "the table, row 0, column 'b': 'yes' is neither true nor false; mend the cell"),
    ],
)
def test_new_cells_that_cannot_be_are_refused_with_a_sentence(cells, message):
    with pytest.raises(InputError) as error:
        transform(pd.DataFrame(ROW | cells), TRAINED, ORIGIN)
    assert str(error.value) == message


def test_a_column_that_new_rows_lack_is_named():
    with pytest.raises(InputError) as error:
        transform(pd.DataFrame({"nn": [1], "x": [2]}), TRAINED, ORIGIN)
    assert str(error.value) == "the table has no column 'n', which the model has learnt from; did you mean 'nn'?"


numbers = st.none() | st.floats(-1e6, 1e6, width=32) | st.integers(-5, 5)
texts = st.none() | st.sampled_from(["red", "blue", "x y", "é", "a,b"])
truths = st.none() | st.booleans()
tables = st.lists(st.tuples(numbers, numbers, texts, st.booleans(), texts, truths), min_size=4, max_size=12)


def table(rows):
    frame = pd.DataFrame(rows, columns=["n", "m", "t", "b", "u", "v"])
    return frame.astype({"n": float, "m": float}).assign(
        label=[f"class {i % 2}" for i in range(len(rows))], k=range(len(rows))
    )


@given(tables, st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_is_what_new_rows_become(tmp_path, rows, data):
    frame = table(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    for source, some in ((frame, frame.iloc[chosen]), (tmp_path / "all.csv", tmp_path / "some.csv")):
        frame.to_csv(tmp_path / "all.csv", index=False)
        frame.iloc[chosen].drop(columns="label").to_csv(tmp_path / "some.csv", index=False)
        whole = read(source, Data(categorical=("m",)))
        encoding = json.loads(json.dumps(whole.encoding))
        assert np.array_equal(read_inputs(source, encoding).x, whole.x)
        assert np.array_equal(read_inputs(some, encoding).x, whole.x[chosen])


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=2, max_size=20))
@settings(max_examples=60, deadline=None)
def test_standardised_numbers_agree_with_the_formula(cells):
    known = [cell for cell in cells if cell is not None]
    assume(known and max(known) - min(known) > 1e-3)
    filled = [median(known) if cell is None else cell for cell in cells]
    expected = [(cell - fmean(filled)) / pstdev(filled) for cell in filled]
    _, x, _ = both(pd.DataFrame({"a": cells}, dtype=float))
    np.testing.assert_allclose(x[:, 0], expected, rtol=1e-5, atol=1e-6)
