import numpy as np
import pandas as pd
import pytest

from labelnoise.data.unlabelled import without_minus_one


@pytest.mark.parametrize(
    "values",
    [
        np.array([0, -1, 1, -1]),
        np.array([0.0, -1.0, 1.0, -1.0]),
        np.array([0, -1, 1, -1], object),
        pd.Series([0, -1, 1, -1], dtype="Int64"),
    ],
)
def test_the_whole_number_minus_one_is_no_label(values):
    labels, notes = without_minus_one(values)
    assert pd.Series(labels).isna().tolist() == [False, True, False, True]
    assert notes == ("the label -1 is taken for none (rows: 2)",)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (np.array([-1, 1, 1, -1]), None),
        (np.array([-1, 0, 1, 0]), [-1, 0, 1]),
        (np.array(["-1", "a"]), None),
        (["-1", "a"], None),
        (np.array(["a", -1], object), None),
        (np.array([-1.0, 0.5, 2.0]), None),
    ],
)
def test_minus_one_is_a_class_where_it_is_a_text_or_named_or_stands_for_the_other_of_two(values, classes):
    labels, notes = without_minus_one(values, classes)
    assert labels is values
    assert notes == ()


@pytest.mark.parametrize("values", [np.array([0, np.nan, 1, -1]), np.array([0, None, 1, -1], object)])
def test_beside_missing_labels_minus_one_is_one_more(values):
    labels, _ = without_minus_one(values)
    assert pd.Series(labels).isna().tolist() == [False, True, False, True]
