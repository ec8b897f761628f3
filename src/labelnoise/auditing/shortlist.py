"""The few classes that a row may truly be of: all further work looks at these alone, however many classes there are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LONGEST = 10  # classes of a row
FLOOR = 1e-6  # smaller probabilities count as this


@dataclass(frozen=True)
class Shortlist:
    """The likeliest classes of each row, best first."""

    classes: NDArray[np.int32]  # (n, m)
    probs: NDArray[np.float32]  # (n, m)

    def at(self, rows: NDArray[np.int64]) -> "Shortlist":
        """These rows."""
        return Shortlist(self.classes[rows], self.probs[rows])

    def holding(self, labels: NDArray[np.int64], own: NDArray[np.float32]) -> "Shortlist":
        """The same with labels that are missing, whose probabilities are `own`, in place of the last class."""
        missing = ~(self.classes == labels[:, None]).any(1)
        if not missing.any():
            return self
        classes, probs = self.classes.copy(), self.probs.copy()
        classes[missing, -1], probs[missing, -1] = labels[missing], own[missing]
        return Shortlist(classes, probs)

    def best_but(self, labels: NDArray[np.int64]) -> NDArray[np.float32]:
        """The largest probability of another class than the label's."""
        return np.where(self.classes[:, 0] == labels, self.probs[:, 1], self.probs[:, 0])


def floored(probs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities that have a logarithm."""
    return np.maximum(probs, np.float32(FLOOR))
