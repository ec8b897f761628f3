import numpy as np
import pytest

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.features import judge
from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.scores import score


def test_features_of_planted_labels_agree_with_a_loop(small):
    K = len(small.T)
    channel = Channel(small.T, np.ones(K), np.zeros(K))
    scores = score((small.probs,), small.given)
    rows, labels = np.array([7, 3, 200]), np.array([0, 1, 3])
    neighbours = np.random.default_rng(0).dirichlet(np.ones(K), len(small.given)).astype(np.float32)
    evidence = Evidence(small.given, small.probs, tuple("abcd"), neighbours=neighbours)
    judged = judge(evidence, scores, channel, rows, labels)
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        p = np.maximum(small.probs[row].astype(float), 1e-6)
        eta = p / p.sum()
        right = eta[label] * small.T[label, label] / (eta @ small.T[:, label])
        expected = [
            np.log((1 - right) / right),
            np.log(p[label]),
            np.log(np.delete(p, label).max()),
            -(p * np.log(p)).sum(),
            np.log((1 - eta[label]) / eta[label]),
            np.log(max(neighbours[row, label], 0.02)),
        ]
        assert judged.features[place].tolist() == pytest.approx(expected, abs=2e-3)
