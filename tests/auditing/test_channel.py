import numpy as np

from labelnoise.auditing.channel import Pairs, fit_channel, with_rate, without_chance
from labelnoise.auditing.posterior import Channel, after, before, wrong
from labelnoise.auditing.scores import score
from labelnoise.auditing.shortlist import Shortlist


def fitted(world):
    shortlist = score((world.probs,), world.given).shortlist
    return shortlist, without_chance(fit_channel(shortlist, world.given, len(world.T)))


def test_t_is_found(world):
    _, channel = fitted(world)
    np.testing.assert_allclose(channel.T.sum(1), 1)
    assert np.abs(channel.T - world.T).max() < 0.08
    assert np.abs(channel.T.diagonal() - world.T.diagonal()).mean() < 0.03


def test_the_posterior_is_close_to_the_known_one(world):
    shortlist, channel = fitted(world)
    seen = after(before(shortlist, channel), channel.likelihood(shortlist, world.given))
    joint = world.clean * world.T[:, world.given].T
    known = 1 - joint[np.arange(len(joint)), world.given] / joint.sum(1)
    assert np.abs(wrong(shortlist, seen, world.given) - known).mean() < 0.04


def test_pairs_are_those_that_occur():
    shortlist = Shortlist(np.array([[0, 1], [1, 2], [0, 2]], np.int32), np.full((3, 2), 0.5, np.float32))
    pairs = Pairs.of(shortlist, np.array([1, 1, 2]), 3)
    assert list(zip(pairs.true, pairs.given, strict=True)) == [(0, 1), (0, 2), (1, 1), (2, 1), (2, 2)]
    assert pairs.place.tolist() == [[0, 2], [2, 3], [1, 4]]


def test_small_differences_between_pairs_are_chance_and_large_ones_are_not():
    even = np.array([[0.7, 0.1, 0.08, 0.12], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]])
    ones, zeros = np.ones(4), np.zeros(4)
    np.testing.assert_allclose(without_chance(Channel(even, ones, zeros)).T[0], [0.7, 0.1, 0.1, 0.1])
    odd = even.copy()
    odd[0] = [0.7, 0.3, 0.0, 0.0]
    np.testing.assert_allclose(without_chance(Channel(odd, ones, zeros)).T[0], [0.7, 0.3, 0, 0])


def test_a_rate_is_reached_by_scaling_errors():
    T = np.array([[0.8, 0.2], [0.1, 0.9]])
    np.testing.assert_allclose(with_rate(T, 2.0), [[0.6, 0.4], [0.2, 0.8]])
    assert with_rate(T, 100.0).min() >= 0.01 - 1e-12
