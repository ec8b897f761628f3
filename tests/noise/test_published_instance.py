import tracemalloc

import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import expected_rate, instance_dependent, published_instance

X = np.array([[1, 0, 2], [0, 1, 1], [2, 1, 0], [1, 1, 1], [0, 2, 1], [1, 2, 0]])
Y = np.array([0, 1, 2, 0, 1, 2])


def test_labels_rates_and_probabilities_are_those_of_public_code():
    given, details = published_instance(X, Y, 0.4, classes=3, seed=1, details=True)
    assert given.tolist() == [0, 0, 1, 1, 0, 1]
    np.testing.assert_allclose(details.rates, [0.379053, 0.458383, 0.037778, 0.348236, 0.294967, 0.267368], atol=1e-6)
    np.testing.assert_allclose(details.P[0], [0.620947, 0.001771, 0.377282], atol=1e-6)


def test_rates_follow_another_mean_by_the_same_numbers():
    _, details = published_instance(X, Y, 0.45, classes=3, seed=1, details=True)
    np.testing.assert_allclose(details.rates[:5], [0.429049, 0.508381, 0.082251, 0.398230, 0.344956], atol=1e-6)


def test_many_labels_are_those_of_public_code():
    source = np.random.RandomState(0)
    x, y = source.randn(5000, 20), source.randint(0, 7, 5000)
    given, details = published_instance(x, y, 0.4, classes=7, seed=3, details=True)
    assert y[:10].tolist() == [3, 2, 6, 5, 2, 3, 5, 5, 3, 4]
    assert given[:10].tolist() == [1, 2, 6, 5, 2, 2, 2, 6, 2, 4]
    assert (given != y).sum() == 2002
    assert details.rates.mean() == pytest.approx(0.400836, abs=1e-6)


def test_a_row_has_the_law_of_the_package_s_own_form():
    x, y = np.random.default_rng(0).integers(0, 9, (20_000, 4)), np.arange(20_000) % 5
    shares = [(make(x, y, 0.3, classes=5, seed=4) != y).mean() for make in (published_instance, instance_dependent)]
    assert shares == pytest.approx([expected_rate(0.3)] * 2, abs=3 * (0.21 / 20_000) ** 0.5)


def test_tensors_come_back_as_tensors():
    given = published_instance(torch.from_numpy(X), torch.from_numpy(Y), 0.4, classes=3, seed=1)
    assert given.tolist() == [0, 0, 1, 1, 0, 1]
    assert given.dtype == torch.int64


def test_without_noise_labels_stay():
    assert np.array_equal(published_instance(X, Y, 0.0, classes=3, seed=1), Y)


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(InputError, match="rate"):
        published_instance(X, Y, 1.5, classes=3, seed=1)


@pytest.mark.parametrize("make", [published_instance, instance_dependent])
def test_projections_are_drawn_class_by_class_so_that_memory_stays_small(make):
    x, y = np.zeros((5_000, 3072), dtype=np.uint8), np.arange(5_000) % 100
    tracemalloc.start()
    try:
        make(x, y, 0.4, classes=100, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6  # all projections at once would be 246 MB, and those of every row 12 GB
