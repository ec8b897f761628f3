"""How many of the first k suspicious rows are wrong: expected, and checked by planted flips."""

from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def precision_table(
    probability: NDArray[np.float64],
    suspicion: NDArray[np.float64],
    planted: NDArray[np.float64],
    rate: float,
) -> pd.DataFrame:
    """Precision at k: the mean probability of the first k rows, and what planted flips make of it.

    `recovered` is the share of planted flips that are at least as suspicious as the k-th row. If wrong labels are
    found as often, the first k rows hold rate · n · recovered of them: divided by k that is `planted`.
    """
    rows = len(probability)
    ks = _round_numbers(rows)
    expected = np.cumsum(np.sort(probability)[::-1])[ks - 1] / ks
    bars = np.sort(suspicion)[::-1][ks - 1]
    below = np.searchsorted(np.sort(planted), bars, side="left")
    recovered = 1 - below / len(planted) if len(planted) else np.full(len(ks), np.nan)
    checked = np.minimum(1, rate * rows * recovered / ks)
    table = {"expected": expected, "recovered": recovered, "planted": checked}
    return pd.DataFrame(table, index=pd.Index(ks, name="k"))


def _round_numbers(rows: int) -> NDArray[np.int64]:
    """10, 20, 50, 100, … below the number of rows, and that number unless it is 0."""
    rounds = (digit * 10**power for power, digit in product(range(1, len(str(rows))), (1, 2, 5)))
    return np.array([*(k for k in rounds if k < rows), *([rows] if rows else [])], np.int64)
