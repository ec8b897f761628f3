"""How many of the first k suspicious rows are wrong: expected, and checked by planted flips."""

from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

ENDS = np.array([[0.025], [0.975]])  # of 95 %


def precision_table(
    probability: NDArray[np.float64],
    suspicion: NDArray[np.float64],
    planted: NDArray[np.float64],
    rate: float,
    interval: tuple[float, float],
) -> pd.DataFrame:
    """Precision at k: the mean probability of the first k rows, and what planted flips make of it.

    `recovered` is the share of planted flips that are at least as suspicious as the k-th row. If wrong labels are
    found as often, the first k rows hold rate · n · recovered of them: divided by k that is `planted`. Few flips lie
    very high, so that it wavers for small k; but rows further down are wrong no more often, so that the largest of it
    counts from each k on. It lies in `planted_low` to `planted_high` with 95 %, by chance and by the noise rate.
    """
    rows = len(probability)
    ks = _round_numbers(rows)
    expected = np.cumsum(np.sort(probability)[::-1])[ks - 1] / ks
    bars = np.sort(suspicion)[::-1][ks - 1]
    below = np.searchsorted(np.sort(planted), bars, side="left")
    recovered = 1 - below / len(planted) if len(planted) else np.full(len(ks), np.nan)
    checked = np.minimum(1, rate * rows * recovered / ks)
    at = _last_of_largest(checked)
    least, most = np.array(interval)[:, None] * rows * _between(recovered, len(planted), rate * rows)
    low, high = (np.minimum(1, wrong / ks) for wrong in (np.floor(least), np.ceil(most)))
    table = {
        "expected": expected,
        "recovered": recovered,
        "planted": checked[at],
        "planted_low": low[at],
        "planted_high": high[at],
    }
    return pd.DataFrame(table, index=pd.Index(ks, name="k"))


def _last_of_largest(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each place the last one, from there on, of the largest value."""
    turned = values[::-1]
    return np.array([len(values) - 1 - turned[: len(values) - each].argmax() for each in range(len(values))], np.int64)


def _between(share: NDArray[np.float64], flips: int, wrong: float) -> NDArray[np.float64]:
    """Between what a share of wrong rows lies if that of so many flips is known, (2, k), by Jeffreys's interval."""
    exact = flips * wrong / max(flips + wrong, 1e-9)  # rows of a count that is as exact, both being drawn
    low, high = beta.ppf(ENDS, exact * share + 0.5, exact * (1 - share) + 0.5)
    return np.array([np.where(share <= 0, 0, low), np.where(share >= 1, 1, high)])


def _round_numbers(rows: int) -> NDArray[np.int64]:
    """10, 20, 50, 100, … below the number of rows, and that number unless it is 0."""
    rounds = (digit * 10**power for power, digit in product(range(1, len(str(rows))), (1, 2, 5)))
    return np.array([*(k for k in rounds if k < rows), *([rows] if rows else [])], np.int64)
