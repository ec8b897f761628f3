import numpy as np
import pytest

from labelnoise.auditing.precision import precision_table


def test_expected_precision_is_the_mean_of_the_first_rows():
    rng = np.random.default_rng(0)
    u = rng.random(120)
    table = precision_table(u, u, u[:5], u.mean(), (0, 1))
    assert table.index.tolist() == [10, 20, 50, 100, 120]
    for k in table.index:
        assert table.expected[k] == pytest.approx(np.mean(sorted(u, reverse=True)[:k]))


def test_planted_flips_give_the_known_precision_of_known_rows():
    """Wrong rows and flips are alike, so that what flips say is what is true."""
    rng = np.random.default_rng(1)
    wrong = rng.random(50000) < 0.2
    suspicion = rng.normal(size=50000) + 2 * wrong
    planted = rng.normal(size=20000) + 2
    table = precision_table(np.full(50000, 0.2), suspicion, planted, wrong.mean(), (0, 1))
    ranked = wrong[np.argsort(-suspicion)]
    for k in (1000, 5000, 10000, 50000):
        assert table.planted[k] == pytest.approx(ranked[:k].mean(), abs=0.02)


def test_five_rows_have_one_line_and_no_flips_no_check():
    table = precision_table(np.full(5, 0.1), np.arange(5.0), np.empty(0), 0.1, (0, 1))
    assert table.index.tolist() == [5]
    assert table.loc[5, ["planted", "planted_low", "planted_high"]].isna().all()


def test_the_first_rows_are_not_said_to_be_right_since_no_flip_lies_as_high():
    """100 of 1,000 rows are wrong and come first; flips lie as high as these, but none as high as the first ten."""
    suspicion = np.concatenate([np.linspace(20, 10, 100), np.zeros(900)])
    table = precision_table(suspicion / 20, suspicion, np.linspace(18, 10, 100), 0.1, (0.1, 0.1))
    assert table.recovered[10] == 0
    assert table.planted[10] == table.planted[100] == 1
    assert table.planted.is_monotonic_decreasing


def test_flips_that_lie_higher_than_wrong_rows_make_nothing_certain():
    """All flips lie above all rows, as if the first 10 held 20 wrong ones: the first 20 tell how sure that is."""
    suspicion = np.linspace(1, 0, 100)
    table = precision_table(suspicion, suspicion, np.full(10, 2.0), 0.2, (0.1, 0.3))
    assert table.planted[[10, 20]].tolist() == [1, 1]
    assert table.planted_low[10] == table.planted_low[20] < 0.6


def test_the_interval_holds_the_known_precision_of_few_rows():
    """Of 30 wrong rows among 300, and as many flips that are like them."""
    rng, held = np.random.default_rng(2), []
    wrong = np.arange(300) < 30
    for _ in range(200):
        suspicion = rng.normal(size=300) + 3 * wrong
        table = precision_table(np.full(300, 0.1), suspicion, rng.normal(size=30) + 3, 0.1, (0.1, 0.1))
        known = np.cumsum(wrong[np.argsort(-suspicion)])[table.index - 1] / table.index
        held.append((table.planted_low <= known + 1e-9) & (known <= table.planted_high + 1e-9))
        assert (table.planted_low <= table.planted).all()
        assert (table.planted <= table.planted_high).all()
    assert np.mean(held, 0)[:3].min() > 0.93


def test_a_noise_rate_that_is_not_known_well_widens_the_interval():
    suspicion = np.linspace(1, 0, 200)
    known, vague = (
        precision_table(suspicion, suspicion, suspicion[:20], 0.1, ends) for ends in ((0.1, 0.1), (0.05, 0.15))
    )
    assert (vague.planted == known.planted).all()
    assert vague.planted_low[200] == pytest.approx(known.planted_low[200] / 2, abs=1 / 200)
    assert vague.planted_high[200] == pytest.approx(known.planted_high[200] * 1.5)
