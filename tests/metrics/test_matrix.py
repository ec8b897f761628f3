import numpy as np
import pytest
import torch

from labelnoise.metrics import matrix_error, shares
from labelnoise.noise import TransitionMatrix, symmetric

TRUTH = [[0.8, 0.2], [0.3, 0.7]]
ESTIMATE = [[0.7, 0.3], [0.35, 0.65]]


def test_mean_absolute_error_is_per_entry():
    assert matrix_error(ESTIMATE, TRUTH).mean_absolute.item() == pytest.approx(0.3 / 4, abs=1e-15)


def test_l1_error_is_relative_to_the_sum_of_the_truth():
    assert matrix_error(ESTIMATE, TRUTH).relative_l1.item() == pytest.approx(0.3 / 2, abs=1e-15)


def test_l1_error_of_rows_that_do_not_sum_to_one():
    assert matrix_error([[1.0, 0.0], [0.0, 1.0]], [[4.0, 1.0], [0.0, 5.0]]).relative_l1.item() == pytest.approx(0.8)


def test_the_truth_has_no_error():
    T = symmetric(5, 0.4)
    assert [value.item() for value in matrix_error(T, T)] == [0, 0]


@pytest.mark.parametrize("kind", [np.array, torch.tensor, TransitionMatrix.from_rows])
def test_matrices_of_every_kind_are_compared_alike(kind):
    expected = [value.item() for value in matrix_error(ESTIMATE, TRUTH)]
    errors = [value.item() for value in matrix_error(kind(ESTIMATE), kind(TRUTH))]
    assert errors == pytest.approx(expected, abs=1e-7)  # torch.tensor makes float32


def test_a_run_axis_gives_one_error_per_run():
    runs = torch.tensor([ESTIMATE, TRUTH], dtype=torch.float64)
    assert matrix_error(runs, TRUTH).mean_absolute.tolist() == pytest.approx([0.075, 0], abs=1e-15)


def test_as_many_truths_as_estimates_are_compared_one_by_one():
    runs, truths = np.array([ESTIMATE, ESTIMATE]), np.array([TRUTH, np.multiply(2, TRUTH)])
    together = matrix_error(runs, truths)
    for run in range(2):
        alone = matrix_error(runs[run], truths[run])
        assert [value[run].item() for value in together] == pytest.approx([value.item() for value in alone], abs=1e-15)


def test_shares_of_counts_sum_to_one_in_every_row_that_has_any():
    found = shares(np.array([[[1, 3], [0, 0]], [[2, 2], [5, 0]]])).numpy()
    np.testing.assert_array_equal(found, [[[0.25, 0.75], [np.nan, np.nan]], [[0.5, 0.5], [1, 0]]])
