"""Between what T lies, entry by entry.

T is taken in three ways: as it is used, where a pair of classes stands out only by more than chance may do; as it is
read off, without that caution; and that less what is missed by where noise is planted by T. The interval goes around
all three, by as much as plantings differ and as the noise rate may be off. A pair that is rarer than even errors would
make it may never occur, or as often as can be without being seen oftener among the rows of its class.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.counting import NORMAL, counting_error


def transition_interval(
    T: NDArray[np.float64],
    read: NDArray[np.float64],
    planted: tuple[NDArray[np.float64], Sequence[NDArray[np.float64]]],
    *,
    rows: NDArray[np.float64],
    off: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """95 % intervals (K, K): low and high.

    `planted` is the T by which noise was planted and what was found each time, `rows` those of each true class, (K,),
    and `off` the share of its errors by which T may be too small or too large.
    """
    sown, found = planted
    middle = sum(found[1:], found[0]) / len(found)
    spread = np.sqrt(sum(((each - middle) ** 2 for each in found), np.zeros_like(T)) / (len(found) - 1))
    wide = NORMAL * spread + off * _errors(T)
    corrected = read + sown - middle
    low = np.minimum(np.minimum(T, read), corrected) - wide
    high = np.maximum(np.maximum(T, read), corrected) + wide
    even = (1 - T.diagonal()) / (len(T) - 1)
    rare = even[:, None] > T
    unseen = np.where(rare, T + counting_error(T, np.maximum(rows, 1)[:, None]), 0)
    return np.clip(np.where(rare, 0, low), 0, 1), np.clip(np.maximum(high, unseen), 0, 1)


def _errors(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """What of each entry of T comes from errors: all of it, and on the diagonal what they take from it."""
    return np.where(np.eye(len(T), dtype=bool), 1 - T, T)
