"""What is known of every row before anybody judges it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Evidence:
    """Given labels, and what models that did not learn from a row say about it."""

    given: NDArray[np.int64]  # (n,) class of the given label; -1: the row has none
    probs: NDArray[np.float32]  # (n, K) out-of-sample probabilities; may be a memmap
    classes: tuple[str, ...]
    margins: NDArray[np.float32] | None = None  # (n,) mean margin of the given label over training; NaN: none
    others: tuple[NDArray[np.float32], ...] = ()  # (n, K) each: out-of-sample probabilities of further methods
    neighbours: NDArray[np.float32] | None = None  # (n, K) shares of given labels among nearest rows in an embedding
    own: bool = True  # the probabilities are the user's own: not computed by the audit, in folds
    notes: tuple[str, ...] = ()  # on how it came about otherwise than asked for
