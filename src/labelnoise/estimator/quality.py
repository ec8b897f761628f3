"""What out-of-fold probabilities say of the labels: how they came about, how many are wrong, how good each one is."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.examine import examine
from labelnoise.data.rows import numbered


class Quality(NamedTuple):
    """Of all labels, and of each."""

    transition: NDArray[np.float64]  # (K, K) P(given j | true i)
    noise_rate: float
    noise_rate_interval: NDArray[np.float64]  # (2,) 95 %
    labels: NDArray[np.float64]  # (n,) probability that the given label is right


def quality(probs: Tensor, given: Tensor, seed: int) -> Quality:
    """As an audit has it."""
    found = examine(Evidence(given.numpy(), probs.float().numpy(), numbered(probs.shape[1])), seed=seed)
    transition = found.transition.to_numpy(np.float64, copy=True)
    right = 1 - found.issues["wrong_probability"].to_numpy(np.float64)
    return Quality(transition, found.noise_rate, np.array(found.noise_rate_interval), right)
