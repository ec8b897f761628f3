import hashlib

import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import (
    CIFAR10_MAP,
    DIGIT_MAP,
    TransitionMatrix,
    asymmetric,
    flip,
    identity,
    pair,
    random_redraw,
    sparse_pairs,
    symmetric,
    uniform_off_diagonal,
)
from labelnoise.rng import uniforms

N = 50_000
TEN = np.arange(N) % 10
UNEVEN = TransitionMatrix.from_rows([[0.7, 0.1, 0.2], [0.0, 0.9, 0.1], [0.45, 0.15, 0.4]])


def one_by_one(y, T, seed):
    """The definition, row by row."""
    coin, target = uniforms(len(y), seed, "noise-coin"), uniforms(len(y), seed, "noise-target")
    flipped = []
    for i, true in enumerate(y):
        label, others = true, [j for j in range(T.classes) if j != true]
        if coin[i] < 1 - T[true, true]:
            total, reached = sum(T[true, j] for j in others), 0.0
            for label in others:
                reached += T[true, label] / total
                if target[i] < reached:
                    break
        flipped.append(label)
    return flipped


@pytest.mark.parametrize("T", [UNEVEN, symmetric(3, 0.6), pair(3, 0.3), asymmetric(3, 0.5, {0: 2}), identity(3)])
def test_flip_follows_its_definition_row_by_row(T):
    y = np.arange(600) % 3
    assert flip(y, T, seed=4).tolist() == one_by_one(y.tolist(), T, 4)


@pytest.mark.parametrize(
    ("T", "rate"),
    [
        (symmetric(10, 0.4), 0.4),
        (random_redraw(10, 0.4), 0.36),
        (random_redraw(100, 0.4), 0.396),
        (pair(10, 0.3), 0.3),
        (asymmetric(10, 0.4, DIGIT_MAP), 0.2),
        (asymmetric(10, 0.4, CIFAR10_MAP), 0.2),
    ],
)
def test_the_realised_rate_lies_in_its_binomial_band(T, rate):
    y = np.arange(N) % T.classes
    realised = (flip(y, T, seed=0) != y).mean()
    assert abs(realised - rate) < 4 * np.sqrt(rate * (1 - rate) / N)


@pytest.mark.parametrize("T", [UNEVEN, symmetric(3, 0.5), random_redraw(3, 0.5), pair(3, 0.45)])
def test_the_matrix_is_recovered_from_true_and_given_labels(T):
    y = np.arange(3 * N) % 3
    given = flip(y, T, seed=1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (y, given), 1)
    probs = np.asarray(T)
    assert (np.abs(counts / N - probs) <= 4 * np.sqrt(probs * (1 - probs) / N)).all()


@pytest.mark.parametrize(
    "build", [symmetric, random_redraw, pair, lambda classes, rate: asymmetric(classes, rate, DIGIT_MAP)]
)
def test_noise_nests_across_rates(build):
    low, high = (flip(TEN, build(10, rate), seed=3) for rate in (0.2, 0.4))
    wrong = low != TEN
    assert wrong.sum() > 4000
    assert (low[wrong] == high[wrong]).all()
    assert (high != TEN).sum() > wrong.sum()


@pytest.mark.parametrize("mapping", [DIGIT_MAP, CIFAR10_MAP])
def test_asymmetric_noise_never_leaves_its_map(mapping):
    given = flip(TEN, asymmetric(10, 0.4, mapping), seed=0)
    wrong = given != TEN
    assert {(int(i), int(j)) for i, j in zip(TEN[wrong], given[wrong], strict=True)} == set(mapping.items())


def test_sparse_noise_stays_within_its_pairs():
    given = flip(TEN, sparse_pairs(10, 0.6, 0.2), seed=0)
    assert (given // 2 == TEN // 2).all()
    assert abs((given != TEN).mean() - 0.4) < 4 * np.sqrt(0.24 / N)


def test_flipped_labels_of_a_seed_are_the_same_for_ever():
    given = flip(TEN[:10_000], symmetric(10, 0.4), seed=0)
    assert given[:12].tolist() == [0, 8, 2, 4, 4, 4, 9, 7, 8, 0, 3, 0]
    assert (
        hashlib.sha256(given.astype("<i8").tobytes()).hexdigest()
        == "8d06f8fc94ee6071d6a6ec5aef6a7d748f4f2ccc761726f593fcde2ae744f0fb"
    )


def test_a_row_is_flipped_alike_whatever_comes_after_it():
    assert (flip(TEN[:100], symmetric(10, 0.4), seed=0) == flip(TEN, symmetric(10, 0.4), seed=0)[:100]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_arrays_come_back_as_arrays_of_their_type(dtype):
    given = flip(TEN.astype(dtype), symmetric(10, 0.4), seed=0)
    assert isinstance(given, np.ndarray)
    assert given.dtype == dtype


def test_tensors_come_back_as_tensors_with_the_same_labels():
    given = flip(torch.from_numpy(TEN), symmetric(10, 0.4), seed=0)
    assert isinstance(given, torch.Tensor)
    assert given.tolist() == flip(TEN, symmetric(10, 0.4), seed=0).tolist()


def test_flip_leaves_its_argument_alone():
    y = np.zeros(100, dtype=int)
    flip(y, symmetric(2, 0.5), seed=0)
    assert not y.any()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0, 1, 3, 4]), "y holds 3 in row 2, but the classes are 0 to 2"),
        (np.array([0, -1]), "y holds -1 in row 1, but the classes are 0 to 2"),
        (np.zeros((4, 1), dtype=int), "y must be a vector of whole numbers, not int64 of shape (4, 1)"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, message):
    with pytest.raises(InputError) as error:
        flip(y, UNEVEN, seed=0)
    assert str(error.value) == message


@pytest.mark.parametrize("T", [np.asarray(UNEVEN), UNEVEN.probs, UNEVEN.probs.tolist()])
def test_a_plain_table_serves_as_matrix(T):
    y = np.arange(600) % 3
    assert (flip(y, T, seed=4) == flip(y, UNEVEN, seed=4)).all()


def test_a_plain_table_is_checked():
    with pytest.raises(InputError, match=r"row 0 of T sums to 1\.1, not to 1"):
        flip(np.arange(4) % 2, [[0.6, 0.5], [0.5, 0.5]], seed=0)


CIFAR10_UNIFORM_HIGH = (0.05, 0.07, 0.04, 0.05, 0.06, 0.04, 0.06, 0.07, 0.08, 0.07)


def test_exact_counts_of_the_published_uniform_noise_give_its_rate_exactly():
    given = flip(TEN, uniform_off_diagonal(CIFAR10_UNIFORM_HIGH), seed=0, exact=True)
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (TEN, given), 1)
    for true in range(10):
        for label in range(10):
            if label != true:
                assert counts[true, label] == round(5000 * CIFAR10_UNIFORM_HIGH[label])
    assert (given != TEN).sum() == 26_550  # 0.531


@pytest.mark.parametrize("T", [UNEVEN, symmetric(3, 0.5), pair(3, 0.45), asymmetric(3, 0.5, {0: 2})])
def test_exact_counts_are_the_expected_ones_rounded(T):
    y = np.repeat([0, 1, 2], [97, 203, 40])
    given = flip(y, T, seed=1, exact=True)
    for true, size in enumerate((97, 203, 40)):
        counts = np.bincount(given[y == true], minlength=3)
        assert np.abs(counts - size * np.asarray(T)[true]).max() < 1
        assert size - counts[true] == round(size * (1 - T[true, true]))


def test_exact_counts_fall_on_other_rows_with_another_seed():
    first, second = (flip(TEN[:1000], symmetric(10, 0.4), seed=seed, exact=True) for seed in (0, 1))
    assert ((first != TEN[:1000]) != (second != TEN[:1000])).mean() > 0.3


@pytest.mark.parametrize("build", [symmetric, pair, lambda classes, rate: asymmetric(classes, rate, DIGIT_MAP)])
def test_exact_noise_nests_across_rates(build):
    y = TEN[:4321]
    low, high = (flip(y, build(10, rate), seed=3, exact=True) for rate in (0.2, 0.4))
    wrong = low != y
    assert (low[wrong] == high[wrong]).all()
    assert (high != y).sum() > wrong.sum() > 300


def test_details_tell_what_labels_were_drawn_from():
    y = np.arange(600) % 3
    given, details = flip(y, UNEVEN, seed=4, details=True)
    assert (given == flip(y, UNEVEN, seed=4)).all()
    assert (np.asarray(UNEVEN)[y] == details.P).all()
    assert details.rates[:3] == pytest.approx([0.3, 0.1, 0.6])
    assert details.realised == (given != y).mean()


def test_details_of_tensors_are_tensors():
    _, details = flip(torch.arange(6) % 3, UNEVEN, seed=4, details=True)
    assert details.P.dtype == details.rates.dtype == torch.float64
