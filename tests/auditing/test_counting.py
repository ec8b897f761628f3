import numpy as np
import pytest
from scipy.stats import binom

from labelnoise.auditing.counting import counting_error


@pytest.mark.parametrize("rows", [10, 100, 1000])
def test_where_none_of_some_rows_is_wrong_the_rule_of_three_holds(rows):
    assert counting_error(0.0, rows) == pytest.approx(3 / rows, rel=0.02)


def test_a_share_of_every_class_is_within_the_error_of_its_own_rows():
    """By the binomial distribution, of which no more than 5 % lie further away."""
    share, rows = np.array([0.01, 0.1, 0.5]), np.array([50.0, 300.0, 2000.0])
    error = counting_error(share, rows)
    inside = binom.cdf(rows * (share + error), rows, share) - binom.cdf(rows * (share - error) - 1e-9, rows, share)
    assert (inside >= 0.95).all()
