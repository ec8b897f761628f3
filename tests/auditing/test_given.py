import numpy as np
import pandas as pd
import pytest

from labelnoise.auditing.given import given_beside, given_of, identified, own_index
from labelnoise.config import Data
from labelnoise.errors import InputError

NAN = float("nan")
X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("y", "labels", "classes"),
    [
        (["b", "a", None, "b"], [1, 0, -1, 1], ("a", "b")),
        ([True, False, True, True], [1, 0, 1, 1], ("False", "True")),
        ([10, 9, 10, 9], [1, 0, 1, 0], ("9", "10")),
        ([0.0, NAN, 1.0, 0.0], [0, -1, 1, 0], ("0", "1")),
        (pd.Categorical(["low", "high", "low", None], ["low", "high"]), [0, 1, 0, -1], ("low", "high")),
        (pd.Series([1, None, 0, 1], dtype="Int64"), [1, -1, 0, 1], ("0", "1")),
    ],
)
@pytest.mark.parametrize("where", ["beside", "with inputs"])
def test_labels_of_any_kind_become_numbers_of_named_classes(y, labels, classes, where):
    found = given_beside(y) if where == "beside" else given_of(X, y, Data())
    assert (found.labels.tolist(), found.classes) == (labels, classes)
    assert found.ids == (0, 1, 2, 3)


def test_a_row_without_a_label_keeps_its_inputs():
    found = given_of(X, ["a", None, "b", "a"], Data())
    assert len(found.dataset) == 4
    assert found.dataset.x.shape == (4, 2)


def test_columns_may_be_of_classes_that_no_row_has():
    assert given_beside([0, 2, 2], columns=4).classes == ("0", "1", "2", "3")
    assert given_beside(["x", "z"], ["z", "y", "x"], 3).labels.tolist() == [2, 0]


def test_more_classes_than_rows_are_possible_where_they_are_named():
    found = given_of(X, ["a", "b", "a", "b"], Data(), classes=list("zyxwvutsrqba"))
    assert (len(found.classes), found.labels.tolist()) == (12, [11, 10, 11, 10])
    assert found.dataset.classes == found.classes


@pytest.mark.parametrize(
    ("y", "classes", "columns", "message"),
    [
        ([None, None], None, None, "no row has a label"),
        (["a", "a"], None, None, "all labels are 'a'"),
        (["a", "b"], None, 3, "probs has 3 columns but y holds 2 classes; name the class of each column"),
        (["a", "b"], ["a", "c"], None, "label 'b' is none of the classes a, c"),
        (["a", "b"], ["a", "b"], 3, "probs has 3 columns but classes names 2"),
        (["a", "b"], ["a", "a"], None, "different classes must be named"),
        ([[0, 1], [1, 0]], None, None, "one label for each row"),
    ],
)
def test_labels_that_cannot_be_are_refused_with_a_sentence(y, classes, columns, message):
    with pytest.raises(InputError, match=message):
        given_beside(y, classes, columns)


def test_a_built_in_set_has_its_labels():
    assert len(given_of("digits", None, Data()).labels) == 1797


def test_ids_of_one_s_own_may_be_anything():
    assert identified(given_beside([0, 1]), np.array([7, 9])).ids == (7, 9)
    assert identified(given_beside([0, 1]), [("a", 1), ("a", 2)]).ids == (("a", 1), ("a", 2))


@pytest.mark.parametrize(
    ("ids", "message"), [(["a", "a"], "id 'a' is in row 0 and again in row 1"), (["a"], "2 rows but 1 ids")]
)
def test_each_row_has_an_id_of_its_own(ids, message):
    with pytest.raises(InputError, match=message):
        identified(given_beside([0, 1]), ids)


def test_ids_of_a_table_are_there_once(tmp_path):
    (tmp_path / "t.csv").write_text("name,a,label\nr1,1,x\nr1,2,y\n")
    with pytest.raises(InputError, match="id 'r1' is in line 2 already"):
        given_of(tmp_path / "t.csv", None, Data(id_column="name"))


@pytest.mark.parametrize("y", [[0, -1, 1, -1], np.array([0, -1, 1, -1]), pd.Series([0, -1, 1, -1], dtype="Int64")])
def test_the_whole_number_minus_one_is_no_label(y):
    found = given_beside(y)
    assert found.labels.tolist() == [0, -1, 1, -1]
    assert found.notes == ("the label -1 is taken for none (rows: 2)",)


@pytest.mark.parametrize(("y", "classes"), [([-1, 1, 1, -1], None), ([-1, 0, 1, 0], [-1, 0, 1]), (["-1", "a"], None)])
def test_minus_one_is_a_class_where_it_is_named_or_stands_for_the_other_of_two(y, classes):
    found = given_beside(y, classes)
    assert ("-1" in found.classes, found.notes) == (True, ())


@pytest.mark.parametrize("kind", ["npz", "npy", "table"])
def test_minus_one_is_no_label_wherever_labels_are_numbers(tmp_path, kind):
    y, source, settings = np.array([0, -1, 1, 0]), str(tmp_path / f"a.{kind}"), Data()
    if kind == "npz":
        np.savez(source, x=X, y=y)
    elif kind == "npy":
        np.save(source, X)
        np.save(tmp_path / "y.npy", y)
        settings = Data(labels=str(tmp_path / "y.npy"))
    else:
        source = pd.DataFrame({"a": X[:, 0], "label": y})
    found = given_of(source, None, settings)
    assert (found.labels.tolist(), found.classes) == ([0, -1, 1, 0], ("0", "1"))
    assert "the label -1 is taken for none (rows: 1)" in found.notes


def test_a_table_that_nothing_is_learnt_from_may_hold_anything(tmp_path):
    (tmp_path / "t.csv").write_text("text,label\n=great stuff,x\nbad,y\n")
    found = given_of(tmp_path / "t.csv", None, Data(), inputs=False)
    assert (found.labels.tolist(), found.notes) == ([0, 1], ())


def test_rows_of_a_table_are_called_as_its_index_has_them():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["r", "s"])
    assert list(own_index(frame)[0]) == ["r", "s"]
    assert own_index(frame.to_numpy()) == (None, ())
    numbers, notes = own_index(pd.concat([frame, frame]))
    assert (list(numbers), len(notes)) == ([0, 1, 2, 3], 1)


def test_lists_are_rows_of_an_array():
    assert given_of(X.tolist(), [0, 1, 0, 1], Data()).dataset.x.shape == (4, 2)
    with pytest.raises(InputError, match="not equally long"):
        given_of([[1.0], [1.0, 2.0]], [0, 1], Data())


def test_minus_one_in_a_text_file_is_a_class_like_any_other(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n3,-1\n1,0\n2,1\n5,0\n")
    found = given_of(tmp_path / "t.csv", None, Data())
    assert (found.classes, found.labels.tolist()) == (("-1", "0", "1"), [0, 1, 2, 1])


def test_an_empty_cell_is_no_label(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n3,-1\n1,\n2,1\n5,1\n")
    assert given_of(tmp_path / "t.csv", None, Data()).labels.tolist() == [0, -1, 1, 1]


def test_a_class_without_a_name_is_refused():
    with pytest.raises(InputError, match="two or more different classes"):
        given_beside(["a", "b"], ["a", "b", ""])
