"""How exact a count is."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

NORMAL = 1.96  # 95 %
Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def counting_error(share: Numbers, rows: Numbers) -> Numbers:
    """How far a share of so many rows may be from that of all such rows, 95 %; where it is 0, three rows."""
    error: Numbers = NORMAL * ((share * (1 - share) + 1 / rows) / rows) ** 0.5 + 1 / rows
    return error
