import hashlib
from itertools import product

import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import TransitionMatrix, annotate, annotators, symmetric, vote, voted

N = 60_000
THREE = annotators(4, 0.4, seed=1)
Y = np.arange(N) % 4


def by_cases(matrices, how):
    """The matrix of a vote from every combination of three labels and every way to break a tie."""
    K = matrices[0].classes
    T = np.zeros((K, K))
    for true, said in product(range(K), product(range(K), repeat=3)):
        chance = np.prod([matrix[true, label] for matrix, label in zip(matrices, said, strict=True)])
        if how == "aggregate":
            kept = [label for label in said if said.count(label) == max(map(said.count, said))]
        else:
            kept = [label for label in said if how == "worst" and label != true] or list(said)
        for label in kept:
            T[true, label] += chance / len(kept)
    return T


def test_rates_go_from_half_to_one_and_a_half_times_the_mean():
    rates = [T.rate() for T in annotators(10, 0.2, number=5)]
    assert rates == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3])


def test_annotators_have_confusions_of_their_own():
    first, second, _ = (np.asarray(T) / T.rate() for T in annotators(10, 0.2))
    off = ~np.eye(10, dtype=bool)
    assert np.abs(first - second)[off].mean() > 0.05


def test_each_annotator_keeps_to_its_matrix():
    given = annotate(Y, THREE, seed=0)
    for labels, T in zip(given, THREE, strict=True):
        probs = np.asarray(T)
        for true in range(4):
            shares = np.bincount(labels[true == Y], minlength=4) / (N // 4)
            assert (np.abs(shares - probs[true]) <= 4 * np.sqrt(probs[true] * (1 - probs[true]) / (N // 4))).all()


def test_annotators_err_independently():
    wrong = annotate(Y, THREE, seed=0) != Y
    together, apart = (wrong[0] & wrong[1]).mean(), wrong[0].mean() * wrong[1].mean()
    assert abs(together - apart) < 4 * np.sqrt(apart / N)


@pytest.mark.parametrize("how", ["random", "aggregate", "worst"])
def test_the_matrix_of_a_vote_is_that_of_all_cases(how):
    np.testing.assert_allclose(np.asarray(voted(THREE, how)), by_cases(THREE, how), atol=1e-12)


@pytest.mark.parametrize("how", ["random", "aggregate", "worst"])
def test_votes_keep_to_their_matrix(how):
    given, probs = vote(annotate(Y, THREE, seed=5), how, y_true=Y, seed=5), np.asarray(voted(THREE, how))
    for true in range(4):
        shares = np.bincount(given[true == Y], minlength=4) / (N // 4)
        assert (np.abs(shares - probs[true]) <= 4 * np.sqrt(probs[true] * (1 - probs[true]) / (N // 4))).all()


def test_tensors_give_the_labels_of_arrays_as_tensors():
    y, given = torch.from_numpy(Y[:100]), annotate(Y[:100], THREE, seed=0)
    assert torch.equal(annotate(y, THREE, seed=0), torch.from_numpy(given))
    voted_on = vote(torch.from_numpy(given), "worst", y_true=y, seed=0)
    assert voted_on.tolist() == vote(given, "worst", y_true=Y[:100], seed=0).tolist()


def test_a_majority_wins_and_a_wrong_label_is_the_worst():
    given = np.array([[0, 1, 2], [0, 1, 1], [1, 0, 2]])
    assert vote(given, "aggregate", y_true=np.array([0, 0, 2]), seed=0).tolist() == [0, 1, 2]
    worst = vote(given, "worst", y_true=np.array([0, 0, 2]), seed=0)
    assert worst.tolist() == [1, 1, 1]


def test_votes_of_a_seed_are_the_same_for_ever():
    given = vote(annotate(Y[:5000], THREE, seed=0), "aggregate", y_true=Y[:5000], seed=0)
    assert (
        hashlib.sha256(given.astype("<i8").tobytes()).hexdigest()
        == "0fb36c4105ac29b3b630465a1d750b13492210bc7f244787ddbcacdb6511e826"
    )


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda: annotators(3, 0.7),
            "annotators must be at least 2 with a rate from 0 to below 2/3, not 3 with 0.7",
        ),
        (
            lambda: annotators(3, 0.2, number=1),
            "annotators must be at least 2 with a rate from 0 to below 2/3, not 1 with 0.2",
        ),
        (
            lambda: voted([symmetric(3, 0.1)] * 2, "worst"),
            "the matrix of a vote is known for three annotators, not for 2",
        ),
        (
            lambda: vote(np.zeros((3, 2), int), "best", y_true=np.zeros(2, int), seed=0),
            "labels of annotators are made one by random, aggregate, worst, not by 'best'",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(act, message):
    with pytest.raises(InputError) as error:
        act()
    assert str(error.value) == message


def test_matrices_are_checked_ones():
    assert all(isinstance(T, TransitionMatrix) for T in THREE)
