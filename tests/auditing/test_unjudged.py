import numpy as np
import pytest

from labelnoise.auditing.scores import score
from labelnoise.auditing.unjudged import half_believed


def test_half_of_what_the_model_says_against_a_label_is_believed(small):
    rows = np.array([7, 3, 200])
    found = half_believed(score((small.probs,), small.given), small.given, rows)
    for place, row in enumerate(rows):
        p, label = small.probs[row].astype(float), small.given[row]
        assert found.probability[place] == pytest.approx((1 - p[label]) / 2)
        expected = np.where(np.arange(4) == label, 0, p / (1 - p[label]))
        assert found.share[place] == pytest.approx(expected[found.classes[place]], abs=1e-5)


def test_rounded_probabilities_make_no_negative_one():
    probs = np.array([[1.005, 0]], np.float32)
    assert half_believed(score((probs,), np.array([0])), np.array([0]), np.array([0])).probability.tolist() == [0]
