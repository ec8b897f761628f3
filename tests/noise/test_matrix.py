import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import (
    CIFAR10_MAP,
    DIGIT_MAP,
    TransitionMatrix,
    asymmetric,
    identity,
    pair,
    random_redraw,
    sparse_pairs,
    symmetric,
    uniform_off_diagonal,
)

# every off-diagonal entry of a column is the same: e = (.1, .2, .05), s = .35
UNIFORM = TransitionMatrix.from_rows([[0.75, 0.2, 0.05], [0.1, 0.85, 0.05], [0.1, 0.2, 0.7]])


def close(actual, expected):
    return np.abs(np.asarray(actual) - np.asarray(expected)).max() < 1e-15


def test_symmetric_spreads_the_rate_over_the_other_classes():
    assert close(symmetric(3, 0.4), [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])


def test_random_redraws_over_all_classes():
    assert close(random_redraw(4, 0.4), 0.6 * np.eye(4) + 0.1)


def test_pair_mistakes_each_class_for_the_next():
    assert close(pair(3, 0.3), [[0.7, 0.3, 0], [0, 0.7, 0.3], [0.3, 0, 0.7]])


def test_asymmetric_leaves_classes_without_an_image_alone():
    assert close(asymmetric(3, 0.3, {2: 0}), [[1, 0, 0], [0, 1, 0], [0.3, 0, 0.7]])


def test_uniform_off_diagonal_turns_every_other_class_into_one_with_its_probability():
    assert close(uniform_off_diagonal((0.1, 0.2, 0.05)), UNIFORM)


@pytest.mark.parametrize("columns", [(0.5, 0.5), (0.1, -0.1), (0.2, float("nan")), [[0.1, 0.1]]])
def test_probabilities_of_columns_that_cannot_be_are_refused(columns):
    with pytest.raises(InputError, match="needs a probability per class, below 1 in sum, not "):
        uniform_off_diagonal(columns)


def test_sparse_noise_confuses_neighbours_in_pairs():
    expected = [[0.7, 0.3, 0, 0, 0], [0.1, 0.9, 0, 0, 0], [0, 0, 0.7, 0.3, 0], [0, 0, 0.1, 0.9, 0], [0, 0, 0, 0, 1]]
    assert close(sparse_pairs(5, 0.3, 0.1), expected)


def test_sparse_noise_confuses_the_pairs_that_are_told():
    assert close(sparse_pairs(3, 0.3, 0.1, [(2, 0)]), [[0.9, 0, 0.1], [0, 1, 0], [0.3, 0, 0.7]])


def test_pairs_must_be_disjoint():
    with pytest.raises(InputError) as error:
        sparse_pairs(4, 0.3, 0.1, [(0, 1), (1, 2)])
    assert str(error.value) == "pairs must be disjoint, but a class is in two of [(0, 1), (1, 2)]"


def test_identity_is_no_noise():
    assert close(identity(3), np.eye(3))


@pytest.mark.parametrize("build", [symmetric, random_redraw, pair])
@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.8, 0.999])
def test_rows_of_builders_sum_to_one(build, classes, rate):
    sums = build(classes, rate).probs.sum(1)
    assert (sums - 1).abs().max() < 1e-14


@pytest.mark.parametrize(
    ("T", "rate"),
    [
        (symmetric(10, 0.4), 0.4),
        (random_redraw(10, 0.4), 0.36),
        (random_redraw(100, 0.4), 0.396),
        (pair(5, 0.45), 0.45),
        (asymmetric(10, 0.4, DIGIT_MAP), 0.2),
        (asymmetric(10, 0.4, CIFAR10_MAP), 0.2),
        (identity(2), 0.0),
    ],
)
def test_rate_is_the_probability_of_a_wrong_label(T, rate):
    assert T.rate() == pytest.approx(rate, abs=1e-15)


def test_rate_weighs_the_classes_by_their_prior():
    # s - sum of prior times e = .35 - .12475
    assert UNIFORM.rate(torch.tensor([0.415, 0.36, 0.225], dtype=torch.float64)) == pytest.approx(0.22525, abs=1e-15)


def test_rate_of_uniform_off_diagonal_noise_on_balanced_classes():
    # the heavier uniform noise of Wei & Liu 2021 on CIFAR-10: s (K - 1) / K = .59 * .9
    e = np.array([0.05, 0.07, 0.04, 0.05, 0.06, 0.04, 0.06, 0.07, 0.08, 0.07])
    T = TransitionMatrix.from_rows(0.41 * np.eye(10) + e)
    assert T.rate() == pytest.approx(0.531, abs=1e-15)


def test_a_noisy_posterior_is_the_clean_one_times_the_matrix():
    prior = torch.tensor([0.415, 0.36, 0.225], dtype=torch.float64)
    assert close(prior @ UNIFORM.probs, [0.36975, 0.434, 0.19625])


def test_inverse_of_uniform_off_diagonal_noise():
    # T = (1 - s) I + 1 e', so the inverse is (I - 1 e') / (1 - s)
    expected = (np.eye(3) - np.array([0.1, 0.2, 0.05])) / 0.65
    assert np.abs(UNIFORM.inverse().numpy() - expected).max() < 1e-14


def test_a_small_determinant_does_not_forbid_the_inverse():
    T = random_redraw(100, 0.9)  # determinant 1e-99, condition number 10
    assert (T.inverse() @ T.probs - torch.eye(100)).abs().max() < 1e-12


@pytest.mark.parametrize("T", [symmetric(10, 0.9), pair(2, 0.5)])
def test_a_singular_matrix_has_no_inverse(T):
    with pytest.raises(InputError, match=r"^T has no usable inverse \(condition number .*\); lower the noise rate$"):
        T.inverse()


def test_an_entry_is_read_by_true_and_given_class():
    assert UNIFORM[0, 1] == 0.2
    assert UNIFORM[1, 0] == 0.1


def test_columns_that_sum_to_one_are_taken_by_an_explicit_call():
    assert close(TransitionMatrix.from_columns([[0.9, 0.4], [0.1, 0.6]]), [[0.9, 0.1], [0.4, 0.6]])


def test_a_matrix_knows_its_number_of_classes():
    assert UNIFORM.classes == 3


def test_a_matrix_is_kept_in_float64_and_apart_from_its_source():
    source = torch.eye(2)
    T = TransitionMatrix(source)
    source[0, 0] = 7
    assert T.probs.dtype == torch.float64
    assert T[0, 0] == 1


def test_numpy_gets_a_copy():
    T = identity(2)
    np.asarray(T)[0, 0] = 7
    assert T[0, 0] == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 0.0]], "T must be square with at least two classes, not of shape (1, 2)"),
        ([0.5, 0.5], "T must be square with at least two classes, not of shape (2,)"),
        ([[1.0]], "T must be square with at least two classes, not of shape (1, 1)"),
        ([[1.1, -0.1], [0.5, 0.5]], "T[0, 1] is -0.1; every entry must be a probability"),
        ([[1.0, 0.0], [np.nan, 0.5]], "T[1, 0] is nan; every entry must be a probability"),
        ([[1.0, 0.0], [0.5, 0.4]], "row 1 of T sums to 0.9, not to 1"),
        ([[1.0, 0.0], [0.5, np.inf]], "row 1 of T sums to inf, not to 1"),
        ([[0.9, 0.4], [0.1, 0.6]], "row 0 of T sums to 1.3; for columns that sum to 1 use from_columns"),
        ([[1.0, 0.0], [0.5, 0.499998]], "row 1 of T sums to 0.999998, not to 1"),
    ],
)
def test_a_bad_matrix_is_refused_with_a_sentence(rows, message):
    with pytest.raises(InputError) as error:
        TransitionMatrix.from_rows(rows)
    assert str(error.value) == message


def test_rounding_in_float32_is_forgiven():
    assert TransitionMatrix(torch.full((3, 3), 1 / 3)).classes == 3


@pytest.mark.parametrize("build", [symmetric, random_redraw, pair, lambda K, rate: asymmetric(K, rate, {0: 1})])
@pytest.mark.parametrize("rate", [-0.1, 1.0, 100.0, float("nan")])
def test_a_rate_outside_the_unit_interval_is_refused(build, rate):
    with pytest.raises(InputError, match=f"^a noise rate must be at least 0 and below 1, not {rate}$"):
        build(3, rate)


@pytest.mark.parametrize("build", [symmetric, random_redraw, pair, lambda K, rate: identity(K)])
def test_a_single_class_cannot_be_noisy(build):
    with pytest.raises(InputError, match=r"^noise needs at least two classes, not 1$"):
        build(1, 0.1)


@pytest.mark.parametrize("mapping", [{0: 0}, {0: 3}, {3: 0}, {-1: 0}, {0: -1}])
def test_a_map_must_join_different_classes_that_exist(mapping):
    ((true, given),) = mapping.items()
    with pytest.raises(InputError) as error:
        asymmetric(3, 0.1, mapping)
    assert str(error.value) == f"mapping {true} to {given} must join two different classes out of 0 to 2"


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.5, 0.5, 0.5]])
def test_a_prior_that_does_not_fit_is_refused(prior):
    with pytest.raises(InputError) as error:
        UNIFORM.rate(torch.tensor(prior))
    assert str(error.value) == f"prior must be 3 probabilities that sum to 1, not {prior}"
