import numpy as np
import pytest
from scipy.stats import binom

from labelnoise.auditing.rate import _weighed, estimate_rate, fewness, untold
from labelnoise.auditing.scores import score


def estimated(world, probs, rows=None):
    rows = np.arange(len(world.given)) if rows is None else rows
    labels = world.given[rows]
    found = score((probs,), world.given)
    shortlist = found.shortlist.at(rows).holding(labels, found.own[rows])
    return estimate_rate((probs,), rows, shortlist, labels, among=len(world.given), seed=0)


@pytest.mark.parametrize("kind", ["symmetric", "paired"])
@pytest.mark.parametrize("of", ["noisy", "probs"])
def test_the_interval_covers_the_share_of_wrong_labels(worlds, channels, kind, of):
    covered = []
    for seed in range(5):
        world = worlds(3000, channels[kind](5, 0.2), 5, seed)
        found = estimated(world, getattr(world, of))
        covered.append(found.interval[0] <= world.wrong.mean() <= found.interval[1])
        assert found.interval[1] - found.interval[0] < 0.15
    assert sum(covered) >= 4


def test_clean_labels_have_next_to_no_noise(worlds, channels):
    found = estimated(world := worlds(3000, channels["symmetric"](5, 0.0), 5), world.probs)
    assert found.rate < 0.02
    assert found.interval[0] < 0.005


def test_the_channel_has_the_rate(world):
    found = estimated(world, world.probs)
    prior = world.clean.mean(0)
    assert 1 - prior @ found.channel.T.diagonal() == pytest.approx(found.rate, abs=0.01)


def test_the_interval_of_t_holds_t(world):
    found = estimated(world, world.probs)
    assert (found.T_low <= found.channel.T).all()
    assert (found.T_high >= found.channel.T).all()
    covered = (found.T_low <= world.T) & (found.T_high >= world.T)
    assert covered.mean() > 0.95


def test_part_of_the_rows_widens_the_interval(world):
    whole, part = estimated(world, world.probs), estimated(world, world.probs, np.arange(0, 6000, 6))
    assert np.ptp(part.interval) > np.ptp(whole.interval)


@pytest.mark.parametrize("wrong", [0, 30])
def test_probabilities_of_two_values_have_no_narrower_interval_than_counting_has(worlds, channels, wrong):
    world = worlds(300, channels["symmetric"](3, 0.0), 5)
    given = world.true.copy()
    given[:wrong] = (given[:wrong] + 1) % 3
    probs = (np.eye(3)[world.true] * 0.8 + 0.2 / 3).astype(np.float32)
    low, high = estimated(world._replace(given=given), probs).interval
    assert low <= max(0, binom.ppf(0.025, 300, wrong / 300) / 300)
    assert high >= binom.ppf(0.975, 300, wrong / 300) / 300
    assert high > wrong / 300 + 1 / 300


def test_few_rows_of_a_class_are_read_by_ranks_and_many_are_not():
    assert [fewness(rows) for rows in (0, 60, 180, 6000)] == [1, 1, 0, 0]
    assert fewness(180 / 3**0.5) == pytest.approx(0.5)


@pytest.mark.parametrize(("by_ranks", "rate"), [(0.36, 0.36), (0.0, 0.35), (1.0, 0.45), (0.4, 0.4)])
def test_ranks_draw_the_estimate_by_half_of_the_own_error_at_most(by_ranks, rate):
    found = _weighed(np.array([0.4, 0.4, by_ranks]), np.zeros((10, 3)), few=1.0, own_error=0.1)
    assert found.rate == pytest.approx(rate)
    assert found.excess == pytest.approx(0.4 - rate)


def test_the_estimate_of_few_labels_takes_no_sure_errors_for_wrong_ones_that_come_close_to_the_right_class():
    rng = np.random.default_rng(0)
    true = np.arange(300) % 5
    probs = rng.uniform(0.001, 0.01, (300, 5))
    probs[np.arange(300), true] = rng.uniform(0.5, 1, 300)
    errs = np.flatnonzero(rng.random(300) < 0.15)
    probs[errs, (true[errs] + 1) % 5] = 3
    probs = (probs / probs.sum(1, keepdims=True)).astype(np.float32)
    found = score((probs,), true)
    shortlist, rows = found.shortlist.holding(true, found.own), np.arange(300)
    few, many = (estimate_rate((probs,), rows, shortlist, true, among=among, seed=0) for among in (300, 3000))
    assert few.rate < many.rate / 2
    assert few.interval[0] == 0


def test_the_interval_of_few_clean_labels_reaches_to_none_though_the_model_is_sure_of_errors():
    rng = np.random.default_rng(0)
    true = np.arange(300) % 5
    said = np.where(rng.random(300) < 0.12, (true + rng.integers(1, 5, 300)) % 5, true)
    top = np.where(said == true, rng.uniform(0.6, 1, 300), rng.uniform(0.4, 0.95, 300))
    probs = np.repeat((1 - top[:, None]) / 4, 5, 1)
    probs[np.arange(300), said] = top
    found = score((probs := probs.astype(np.float32),), true)
    rows = np.arange(300)
    shortlist = found.shortlist.holding(true, found.own)
    assert estimate_rate((probs,), rows, shortlist, true, among=300, seed=0).interval[0] == 0


@pytest.mark.parametrize("rows", [40, 1000])
def test_what_passes_for_wrong_labels_is_a_share_of_the_error_that_there_then_is(rows):
    below, above = untold(0.2, rows)
    assert below == pytest.approx((10 / rows) ** 0.5 * (0.2 + below))
    assert above == pytest.approx((10 / rows) ** 0.5 * (0.2 - above))


def test_of_too_few_rows_to_learn_from_any_may_be_right():
    assert untold(0.01, 3)[0] > 1
