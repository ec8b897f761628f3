import numpy as np
import pytest

from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.shortlist import Shortlist

T = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
P = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
SHORTLIST = Shortlist(
    np.argsort(-P, 1).astype(np.int32), np.take_along_axis(P, np.argsort(-P, 1), 1).astype(np.float32)
)
LABELS = np.array([1, 0])


def test_a_scale_of_one_leaves_probabilities_alone():
    plain = Channel(T, np.ones(3), np.zeros(3))
    np.testing.assert_allclose(before(SHORTLIST, plain), SHORTLIST.probs, rtol=1e-6)


def test_before_and_after_agree_with_bayes_by_loops():
    channel = Channel(T, np.array([2.0, 1.0, 0.5]), np.array([0.1, 0.0, -0.3]))
    prior = before(SHORTLIST, channel)
    seen = after(prior, channel.likelihood(SHORTLIST, LABELS))
    doubt = wrong(SHORTLIST, seen, LABELS)
    for row, label in enumerate(LABELS):
        weight = [np.exp(channel.shift[k]) * P[row, k] ** channel.scale[k] for k in range(3)]
        joint = [weight[k] * T[k, label] for k in range(3)]
        for place, k in enumerate(SHORTLIST.classes[row]):
            assert prior[row, place] == pytest.approx(weight[k] / sum(weight), rel=1e-5)
            assert seen[row, place] == pytest.approx(joint[k] / sum(joint), rel=1e-5)
        assert doubt[row] == pytest.approx(1 - joint[label] / sum(joint), rel=1e-5)
