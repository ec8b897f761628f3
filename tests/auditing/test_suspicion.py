import numpy as np
import pytest

from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.rate import Rate
from labelnoise.auditing.scores import score
from labelnoise.auditing.suspicion import Case, others, suspect


@pytest.fixture
def case(small):
    """With the known channel and the known rate."""
    K, rows = len(small.T), np.arange(len(small.given))
    rate = float(small.wrong.mean())
    known = Rate(rate, (0, 1), Channel(small.T, np.ones(K), np.zeros(K)), small.T, small.T)
    return Case(small.evidence, score((small.probs,), small.given), known, rows, rows)


def test_with_the_known_channel_the_probability_is_near_the_known_posterior(case, small):
    joint = small.clean * small.T[:, small.given].T
    known = 1 - joint[np.arange(len(joint)), small.given] / joint.sum(1)
    found = suspect(case, seed=0).probability
    assert np.abs(found - known).mean() < 0.04
    assert found.mean() == pytest.approx(small.wrong.mean(), abs=1e-6)


def test_planted_flips_are_judged_by_a_planting_of_their_own(case):
    first, second = suspect(case, seed=0), suspect(case, seed=1)
    assert first.planted["flips"] > 40
    assert first.planted != second.planted
    assert 0.5 < first.planted["found"] <= 1
    assert first.planted == suspect(case, seed=0).planted


def test_others_leave_the_label_out(case):
    own = case.judged.shortlist.classes == case.judged.labels[:, None]
    assert np.allclose(others(case.judged), case.judged.seen * ~own)
