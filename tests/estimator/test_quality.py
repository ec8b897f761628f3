import numpy as np
import pytest
import torch

from labelnoise.estimator.quality import quality


def test_confident_predictions_are_counted():
    true = torch.tensor([0] * 6 + [1] * 4)
    given = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1, 0])
    probs = torch.eye(2)[true] * 0.98 + 0.01
    transition, rate, labels = quality(probs, given)
    np.testing.assert_allclose(transition, [[4 / 6, 2 / 6], [1 / 4, 3 / 4]])
    assert rate == pytest.approx(3 / 10)
    np.testing.assert_allclose(labels, np.where(given == true, 0.99, 0.01), rtol=1e-6)


def test_a_class_that_nothing_is_of_is_labelled_rightly():
    probs = torch.tensor([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]])
    assert quality(probs, torch.tensor([0, 1])).transition.tolist() == np.eye(3).tolist()


def test_rows_sum_to_one_and_the_rate_is_a_share():
    generator = torch.Generator().manual_seed(0)
    found = quality(torch.rand(50, 4, generator=generator).softmax(1), torch.randint(4, (50,), generator=generator))
    np.testing.assert_allclose(found.transition.sum(1), 1)
    assert 0 <= found.noise_rate <= 1
