import numpy as np
import pandas as pd
import pytest

from labelnoise.auditing.precision import precision_table


def test_expected_precision_is_the_mean_of_the_first_rows():
    rng = np.random.default_rng(0)
    u = rng.random(120)
    table = precision_table(u, u, u[:5], u.mean())
    assert table.index.tolist() == [10, 20, 50, 100, 120]
    for k in table.index:
        assert table.expected[k] == pytest.approx(np.mean(sorted(u, reverse=True)[:k]))


def test_planted_flips_give_the_known_precision_of_known_rows():
    """Wrong rows and flips are alike, so that what flips say is what is true."""
    rng = np.random.default_rng(1)
    wrong = rng.random(50000) < 0.2
    suspicion = rng.normal(size=50000) + 2 * wrong
    planted = rng.normal(size=20000) + 2
    table = precision_table(np.full(50000, 0.2), suspicion, planted, wrong.mean())
    ranked = wrong[np.argsort(-suspicion)]
    for k in (1000, 5000, 10000, 50000):
        assert table.planted[k] == pytest.approx(ranked[:k].mean(), abs=0.02)


def test_five_rows_have_one_line_and_no_flips_no_check():
    table = precision_table(np.full(5, 0.1), np.arange(5.0), np.empty(0), 0.1)
    assert table.index.tolist() == [5]
    assert pd.isna(table.planted[5])
