import numpy as np
import pytest

from labelnoise.auditing.ranks import even_share, share_by_ranks
from labelnoise.auditing.scores import score


def by_ranks(probs, given, seen):
    """With a posterior (n, K) of all classes."""
    found = score((probs,), given)
    shortlist = found.shortlist.holding(given, found.own)
    posterior = np.take_along_axis(seen, shortlist.classes, 1).astype(np.float32)
    return share_by_ranks((probs,), np.arange(len(given)), shortlist, given, posterior, 0)


def posterior(world):
    joint = world.clean * world.T[:, world.given].T
    return joint / joint.sum(1, keepdims=True)


def two_valued(classes):
    return (np.eye(5)[classes] * 0.8 + 0.04).astype(np.float32)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_the_even_share_is_that_of_even_ranks_among_such_as_crowd_at_the_top(share):
    rng = np.random.default_rng(0)
    chance = np.where(rng.random(20_000) < share, rng.random(20_000), rng.random(20_000) ** (1 / 8))
    assert even_share(rng.binomial(64, chance), 64) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("kind", ["symmetric", "paired"])
def test_wrong_labels_are_counted_whatever_classes_are_mixed_up(worlds, channels, kind):
    off = [
        by_ranks(world.probs, world.given, posterior(world)) - world.wrong.mean()
        for world in (worlds(1000, channels[kind](5, 0.2), 4, seed) for seed in range(5))
    ]
    assert np.mean(off) == pytest.approx(0, abs=0.03)


def test_wrong_labels_of_pairs_that_pass_for_right_ones_are_counted_too_few(worlds, channels):
    world = worlds(1000, channels["paired"](5, 0.4), 12, 0)
    passing = 0.99 * np.eye(5)[world.given] + 0.01 * world.clean
    shares = [by_ranks(world.noisy, world.given, seen) for seen in (posterior(world), passing)]
    assert shares[0] == pytest.approx(world.wrong.mean(), abs=0.08)
    assert shares[1] < world.wrong.mean() / 2


def test_what_keeps_the_order_of_rows_keeps_the_share(worlds, channels):
    world = worlds(400, channels["symmetric"](2, 0.2), 1)  # of two classes powers keep it
    powers = world.clean**1.5 / (world.clean**1.5).sum(1, keepdims=True)
    shares = [by_ranks(each.astype(np.float32), world.given, posterior(world)) for each in (world.clean, powers)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)  # rounding may make equal what was not


def test_sure_errors_pass_for_no_wrong_labels_where_the_right_class_comes_second():
    rng = np.random.default_rng(0)
    true = np.arange(600) % 10
    probs = rng.uniform(0.001, 0.01, (600, 10))
    probs[np.arange(600), true] = 1
    errs = rng.random(600) < 0.12
    probs[errs, (true[errs] + 3) % 10] = 5
    probs /= probs.sum(1, keepdims=True)
    assert by_ranks(probs.astype(np.float32), true, np.eye(10)[true] + probs) < 0.01


@pytest.mark.parametrize("wrong", [0, 600])
def test_equal_probabilities_are_ranked_by_chance(wrong):
    true = np.arange(3000) % 5
    given = true.copy()
    given[:wrong] = (given[:wrong] + 1) % 5
    assert by_ranks(two_valued(true), given, np.eye(5)[true]) == pytest.approx(wrong / 3000, abs=0.03)


def test_a_class_that_no_row_is_of_is_compared_with_any():
    given = np.zeros(50, int)
    seen = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (50, 1))
    assert 0 <= by_ranks(two_valued(given), given, seen) <= 1
