from types import SimpleNamespace

import pytest
import torch

from labelnoise.report.uneven import confusions, is_uneven, never_predicted, one_class_alone

NAMES = ("no", "yes", "a, b", "d", "e")


def runs(*counts):
    """Runs in which these rows were counted, by label and prediction."""
    return [SimpleNamespace(details={"test_confusion": torch.tensor(each, dtype=torch.float64)}) for each in counts]


def sized(*sizes):
    """The counts of one run that predicts every class of these sizes rightly."""
    return torch.diag(torch.tensor(sizes, dtype=torch.float64))


@pytest.mark.parametrize(
    ("sizes", "uneven"),
    [
        ((40, 10), True),
        ((39, 10), False),
        ((10, 25, 40), True),
        ((10, 10), False),
        ((0, 30, 10), False),
        ((7,), False),
        ((0, 0), False),
    ],
)
def test_classes_are_uneven_where_the_largest_is_four_times_the_smallest_that_occurs(sizes, uneven):
    assert is_uneven([sized(*sizes)]) == uneven


def test_sizes_are_those_of_all_runs_together():
    assert is_uneven([sized(50, 10), sized(41, 12)])
    assert not is_uneven([sized(50, 10), sized(37, 12)])


def test_what_one_class_alone_would_give_is_its_share_and_one_by_the_number_of_classes():
    assert one_class_alone([sized(0, 5, 90, 5)], NAMES) == (
        'Classes differ much in size: to predict nothing but class "a, b" would give 90.0 %, and 33.3 % balanced.'
    )


def test_a_run_without_counts_is_passed_over():
    assert confusions([SimpleNamespace(details={}), *runs([[1, 0], [0, 1]])])[0].equal(torch.eye(2).double())


def test_a_class_that_some_runs_never_predict_is_named_with_their_number():
    blind, seeing = [[9, 0], [3, 0]], [[9, 0], [2, 1]]
    expected = "On the test part gce never predicts class yes (in {} of {})."
    assert never_predicted("gce", runs(blind, blind, seeing), NAMES) == [expected.format(2, "3 runs")]
    assert never_predicted("gce", runs(blind), NAMES) == [expected.format(1, "1 run")]


@pytest.mark.parametrize("counts", [[[9, 0], [2, 1]], [[9, 0], [0, 0]]], ids=["predicted", "without rows"])
def test_nothing_is_said_of_classes_that_are_predicted_or_have_no_rows(counts):
    assert never_predicted("ce", runs(counts), NAMES) == []


def test_nothing_is_said_where_nothing_was_counted():
    assert never_predicted("ce", [SimpleNamespace(details={})], NAMES) == []


def test_of_many_classes_those_that_most_runs_miss_are_named_and_the_rest_counted():
    none, one = torch.zeros(5, 5), torch.zeros(5, 5)
    none[:, 0] = one[:, 0] = 2
    one[1, 1] = 1
    both = "(in 2 of 2 runs)"
    assert never_predicted("ce", runs(none.tolist(), one.tolist()), NAMES) == [
        f'On the test part ce never predicts classes "a, b" {both}, d {both}, e {both} and 1 more.'
    ]
