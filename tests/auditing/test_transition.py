import numpy as np
import pytest

from labelnoise.auditing.transition import transition_interval

T = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
ROWS = np.full(3, 100.0)


def between(read=T, found=(T, T), off=0.0, rows=ROWS):
    return transition_interval(T, read, (T, found), rows=rows, off=off)


def test_where_all_readings_agree_only_rare_pairs_are_open():
    low, high = between()
    rare = np.array([[False, False, True], [False] * 3, [False] * 3])
    assert np.allclose(low, np.where(rare, 0, T))
    assert np.allclose(high[~rare], T[~rare])


def test_a_pair_that_was_seen_nowhere_is_open_up_to_the_rule_of_three():
    never = np.array([[0.8, 0.2, 0.0], *T[1:]])
    _, high = transition_interval(never, never, (never, (never, never)), rows=ROWS, off=0.0)
    assert high[0, 2] == pytest.approx(3 / 100, rel=0.05)


def test_the_interval_holds_what_was_read_off_and_what_planted_noise_says_of_it():
    read = np.array([[0.8, 0.19, 0.01], *T[1:]])
    found = np.array([[0.8, 0.12, 0.08], *T[1:]])  # 3 points too few where 15 % were planted
    _, high = between(read, (found, found))
    assert high[0, 1] == pytest.approx(0.19 + 0.03)
    low, _ = between(read[:, ::-1][::-1], (T, T))
    assert low[2, 1] == pytest.approx(min(T[2, 1], read[0, 1]))


def test_plantings_that_differ_and_an_unsure_rate_widen_it():
    apart = np.array([[0.02, -0.02, 0], [0, 0, 0], [0, 0, 0]])
    low, high = between(found=(T + apart, T - apart), off=0.5)
    spread = 0.02 * np.sqrt(2)
    assert high[0, 1] == pytest.approx(0.15 + 1.96 * spread + 0.5 * 0.15)
    assert low[0, 0] == pytest.approx(0.8 - 1.96 * spread - 0.5 * 0.2)
    assert low[1, 2] == pytest.approx(0.05)
    assert low.min() >= 0
    assert high.max() <= 1
