import numpy as np
import pytest
from scipy.special import expit, logit

from labelnoise.auditing.combine import learn_weights, shift_to, with_margins

RATE = 0.2


def two_scores(rng, wrong, told):
    """Scores that are normal with unit variance around ±1 or ±½, of which the first is told as if it were a logit."""
    sign = np.where(wrong, 1.0, -1.0)
    first, second = sign + rng.normal(size=len(wrong)), sign / 2 + rng.normal(size=len(wrong))
    return np.stack([told * first, second], 1)


@pytest.mark.parametrize("told", [0.5, 2.0, 5.0])
def test_weights_are_those_of_the_known_log_odds(told):
    rng = np.random.default_rng(0)
    wrong = rng.random(40000) < RATE
    labels, flips = two_scores(rng, wrong, told), two_scores(rng, np.ones(20000, bool), told)
    learnt = learn_weights(labels, flips, RATE)
    # log of the ratio of two normals around ±m is 2 m x, and the prior adds logit(RATE)
    np.testing.assert_allclose(learnt.weights, [2 / told, 1], atol=0.12 / min(told, 1))
    assert learnt.bias == pytest.approx(logit(RATE), abs=0.12)


def test_without_flips_the_posterior_stands():
    features = np.array([[2.0, 0.3], [-1.0, 0.1], [0.5, 0.4]])
    np.testing.assert_allclose(learn_weights(features, np.empty((0, 2)), RATE).logits(features), features[:, 0])


def test_the_mean_probability_becomes_the_rate():
    logits = np.random.default_rng(0).normal(size=1000) * 4
    for rate in (0.0, 0.03, 0.5, 1.0):
        assert expit(logits + shift_to(logits, rate)).mean() == pytest.approx(rate, abs=1e-6)


def test_low_margins_make_suspicious_and_unknown_ones_do_nothing():
    rng = np.random.default_rng(0)
    wrong = rng.random(5000) < 0.3
    logits = np.where(wrong, 2.0, -3.0) + rng.normal(size=5000)
    margins = np.where(wrong, -1.0, 1.0) + rng.normal(size=5000)
    margins[:10] = np.nan
    added = with_margins(logits, margins.astype(np.float32)) - logits
    assert (added[:10] == 0).all()
    assert added[10:][margins[10:] < -1.5].min() > 0 > added[10:][margins[10:] > 1.5].max()
