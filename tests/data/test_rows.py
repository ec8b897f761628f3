import numpy as np
import pandas as pd
import pytest
import torch

from labelnoise.data.factor import Origin
from labelnoise.data.rows import Inputs, Rows, counted, identified, numbered, to_dataset
from labelnoise.errors import InputError


def rows(given, true=None, test=None):
    x = torch.arange(len(given)).float()[:, None]
    inputs = Inputs(x, tuple(f"r{i}" for i in range(len(given))), ("as it was",))
    return Rows("toy", Origin("the table"), inputs, {"kind": "table"}, given, true, ("label", "truth"), test)


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (["b", "a", "C"], ("C", "a", "b")),
        ([10, 9, 2], ("2", "9", "10")),
        (["10", "9", "2"], ("2", "9", "10")),
        (["1", "01", "-3", "1e1"], ("-3", "01", "1", "1e1")),
        (["10", "9", "x"], ("10", "9", "x")),
        ([2.0, np.nan, 1.0], ("1", "2")),
        ([True, False], ("False", "True")),
        (pd.Categorical(["low", "high"], ["low", "mid", "high"]), ("low", "mid", "high")),
        (pd.Series(["low", "high"], dtype=pd.CategoricalDtype(["low", "high"])), ("low", "high")),
    ],
)
def test_classes_have_the_order_that_is_promised(given, classes):
    assert to_dataset(rows(given)).classes == classes


def test_labels_are_the_places_of_their_names():
    assert to_dataset(rows(["b", "a", "b", "c"])).y_given.tolist() == [1, 0, 1, 2]


def test_classes_are_those_of_given_and_true_labels_together():
    data = to_dataset(rows(["b", "d", "b"], ["a", "d", "c"]))
    assert data.classes == ("a", "b", "c", "d")
    assert data.y_true.tolist() == [0, 3, 2]


def test_rows_without_a_label_are_left_out_with_a_note():
    data = to_dataset(rows(["b", None, "a", ""], ["b", "a", "a", None]))
    assert data.ids == ("r0", "r2")
    assert data.x.tolist() == [[0], [2]]
    assert data.y_true.tolist() == [1, 0]
    assert data.notes == ("as it was", "2 rows without a label are left out")


def test_rows_kept_for_the_test_stay_so_when_others_are_left_out():
    data = to_dataset(rows(["b", None, "a", "a", None, "b"], test=torch.tensor([3, 4, 5])))
    assert data.test.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("given", "true", "message"),
    [
        (["a", "b"], ["a"], "the table has 2 rows but truth has 1; give one for each row"),
        (["a", "b"], ["a", None], "the table, row 1, column 'truth': the true label is missing; fill it in"),
        ([None, None], None, "the table: no row has a label in 'label'"),
        (["a", None, "a"], None, "the table: all labels in 'label' are 'a'; at least two classes must occur"),
        (
            np.array([1.0, np.nan, 0.25]),
            None,
            "the table, row 2, column 'label': 0.25 is no class; labels are whole numbers or names",
        ),
    ],
)
def test_labels_that_cannot_be_are_refused_with_a_sentence(given, true, message):
    with pytest.raises(InputError) as error:
        to_dataset(rows(given, true))
    assert str(error.value) == message


def test_many_classes_are_taken_if_each_has_two_rows():
    assert len(to_dataset(rows(list(range(101)) * 2)).classes) == 101
    with pytest.raises(InputError, match="101 different labels in 'label', for 201 rows, are too many for classes"):
        to_dataset(rows([*range(101), *range(100)]))


@pytest.mark.parametrize("count", [20, 60])
def test_labels_that_are_measurements_are_refused(count):
    with pytest.raises(InputError) as error:
        to_dataset(rows([f"{0.37 * i:.2f}" for i in range(count)]))
    assert str(error.value) == (
        f"the table: {count} different labels in 'label', for {count} rows, are too many for classes; "
        "give classes, not ids or measurements"
    )


def test_fewer_than_twenty_classes_may_have_a_row_each():
    assert len(to_dataset(rows(list(range(19)))).classes) == 19


def test_classes_of_which_most_have_a_single_row_are_refused():
    assert len(to_dataset(rows([*range(20), *range(10), *[0] * 70])).classes) == 20
    with pytest.raises(InputError) as error:
        to_dataset(rows([*range(20), *range(9), *[0] * 71]))
    assert str(error.value) == (
        "the table: 11 of 20 different labels in 'label' have a single row, too many for classes; "
        "give classes, not ids or measurements, or leave rare labels out"
    )


def test_a_class_called_like_a_formula_is_refused_even_if_no_row_has_it():
    with pytest.raises(InputError, match=r"^the table: class '=A1' is a spreadsheet formula; rename it$"):
        to_dataset(rows(pd.Categorical(["a", "b"], ["a", "=A1", "b"])))


def test_a_test_part_that_loses_all_its_rows_is_named_with_its_source():
    with pytest.raises(InputError, match=r"^the table: 0 of 2 rows are kept for the test; keep some, not all$"):
        to_dataset(rows(["a", "b", None], test=torch.tensor([2])))


def test_ids_are_texts():
    assert numbered(3) == ("0", "1", "2")
    assert identified([7, 5], Origin("x"), "id") == ("7", "5")


def test_one_is_no_plural():
    assert (counted(1, "row"), counted(2, "row")) == ("1 row", "2 rows")
