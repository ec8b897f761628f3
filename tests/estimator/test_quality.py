import numpy as np
import pytest
import torch

from labelnoise.estimator.quality import quality

CLASSES, ROWS = 4, 3000
T = np.full((CLASSES, CLASSES), 0.05) + 0.8 * np.eye(CLASSES)  # 15 % of labels are wrong


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    true = rng.integers(CLASSES, size=ROWS)
    given = np.array([rng.choice(CLASSES, p=T[label]) for label in true])
    logits = 6 * np.eye(CLASSES)[true] + rng.normal(size=(ROWS, CLASSES))
    return torch.from_numpy(logits).softmax(1), torch.from_numpy(given), given != true


def test_the_rate_and_its_interval_are_those_of_the_flips(sample):
    probs, given, wrong = sample
    found = quality(probs, given, 0)
    low, high = found.noise_rate_interval
    assert low <= wrong.mean() <= high
    assert found.noise_rate == pytest.approx(wrong.mean(), abs=0.02)


def test_the_matrix_is_that_of_the_flips(sample):
    probs, given, _ = sample
    np.testing.assert_allclose(quality(probs, given, 0).transition, T, atol=0.05)


def test_wrong_labels_are_of_low_quality(sample):
    probs, given, wrong = sample
    labels = quality(probs, given, 0).labels
    assert labels[wrong].mean() < 0.1
    assert labels[~wrong].mean() > 0.9
