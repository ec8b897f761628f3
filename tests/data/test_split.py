from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.config import Split
from labelnoise.data import Dataset, split
from labelnoise.data.split import absent
from labelnoise.errors import InputError


def labelled(*sizes):
    y = torch.cat([torch.full((size,), label) for label, size in enumerate(sizes)])
    return Dataset.from_arrays(torch.zeros(len(y), 1), y, classes=[f"c{i}" for i in range(len(sizes))])


def table(data, splits):
    """Rows by part and class."""
    return np.array([np.bincount(data.y_given[rows], minlength=len(data.classes)) for rows in splits])


@pytest.mark.parametrize("sizes", [(100, 50, 25), (3, 3, 3), (1000, 3, 2, 1), (7, 8, 9, 10, 11)])
@pytest.mark.parametrize("fractions", [Split(), Split(0.3, 0.3), Split(0.05, 0.9)])
def test_the_parts_are_disjoint_and_cover_all_rows(sizes, fractions):
    data = labelled(*sizes)
    assert torch.cat(list(split(data, fractions, 0))).sort().values.tolist() == list(range(len(data)))


@pytest.mark.parametrize("fractions", [Split(), Split(0.01, 0.01), Split(0.49, 0.5), Split(0.9, 0.05)])
def test_a_class_with_three_rows_is_in_every_part(fractions):
    data = labelled(3, 4, 5, 100)
    assert (table(data, split(data, fractions, 0)) >= 1).all()


def test_the_first_row_of_a_rare_class_goes_to_train():
    data = labelled(1000, 1, 2, 1, 2)
    assert (table(data, split(data, Split(0.4, 0.5), 0))[0] >= 1).all()


def test_classes_without_rows_are_passed_over():
    data = labelled(10, 0, 10)
    assert table(data, split(data, Split(0.2, 0.2), 0)).tolist() == [[6, 0, 6], [2, 0, 2], [2, 0, 2]]


def test_the_shares_of_a_class_are_exact_where_they_are_whole():
    data = labelled(100, 50, 10)
    assert table(data, split(data, Split(0.1, 0.2), 0)).tolist() == [[70, 35, 7], [10, 5, 1], [20, 10, 2]]


def test_rounding_is_made_good_by_the_next_classes():
    data = labelled(*[15] * 10)  # 1.5 rows of each class for validation, and 3.75 for the test
    counts = table(data, split(data, Split(0.1, 0.25), 0))
    assert counts[1].sum() == 15
    assert counts[2].sum() in (37, 38)
    assert set(counts[1]) == {1, 2}
    assert set(counts[2]) == {3, 4}


def test_what_rare_classes_take_is_not_asked_back_from_a_large_one():
    data = labelled(*[3] * 50, 1000)
    assert table(data, split(data, Split(), 0))[1, -1] == 100


def test_the_same_seed_cuts_the_same_and_another_differently():
    data = labelled(100, 100)
    first, again, other = (split(data, Split(), seed) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.test, other.test)


def test_the_split_of_a_seed_is_a_promise():
    assert split(labelled(8, 8), Split(0.25, 0.25), 0).test.tolist() == [3, 5, 14, 15]


@pytest.mark.parametrize(("sizes", "part"), [((1, 1), "validation"), ((2, 2, 2), "test")])
def test_an_empty_part_is_refused(sizes, part):
    with pytest.raises(
        InputError, match=f"^the {part} part of data set 'data' is empty; {sum(sizes)} rows are too few$"
    ):
        split(labelled(*sizes), Split(0.3, 0.01), 0)


def test_rows_kept_for_the_test_are_the_test_part():
    data = replace(labelled(50, 50), test=torch.arange(40, 60))
    parts = split(data, Split(0.1, 0.2), 0)
    assert parts.test.tolist() == list(range(40, 60))
    assert table(data, parts).tolist() == [[35, 35], [5, 5], [10, 10]]  # 0.1 / 0.8 of the other 80


def test_classes_that_are_not_in_every_part_are_named():
    data = labelled(20, 2, 1)
    assert absent(data, split(data, Split(), 0)) == [
        "class 'c1' is rare, 2 in all, and missing from validation and test",
        "class 'c2' is rare, 1 in all, and missing from validation and test",
    ]


def test_no_class_is_named_where_all_are_everywhere():
    data = labelled(20, 20)
    assert absent(data, split(data, Split(), 0)) == []


def test_only_as_many_rows_are_cut_as_asked_for() -> None:
    data = labelled(50, 50)
    parts = split(data, Split(0.2, 0.2, rows=40), 0)
    assert len(set(torch.cat(parts).tolist())) == 40
    assert [len(part) for part in parts] == [24, 8, 8]
    assert torch.cat(split(data, Split(0.2, 0.2, rows=40), 1)).sort().values.tolist() != sorted(
        torch.cat(parts).tolist()
    )


def test_rows_that_the_data_keep_for_the_test_are_not_among_those_drawn() -> None:
    data = replace(labelled(50, 50), test=torch.arange(10))
    parts = split(data, Split(0.2, 0.2, rows=40), 0)
    assert [len(part) for part in parts] == [30, 10, 10]
    assert parts.test.tolist() == list(range(10))


def test_more_rows_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match=r"split\.rows is 101, but 'data' has only 100 rows to split"):
        split(labelled(50, 50), Split(rows=101), 0)
