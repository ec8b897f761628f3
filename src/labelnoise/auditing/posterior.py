"""From the model's probabilities to the probability of each true class, before and after the given label is seen.

before   η[k] ∝ exp(scale[k] · log p[k] + shift[k])         what the input says
after    r[k] ∝ η[k] · T[k, given]                          what input and label say together
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.shortlist import Shortlist, floored


@dataclass(frozen=True)
class Channel:
    """How true classes become given labels, and how far the model's probabilities are to be trusted."""

    T: NDArray[np.float64]  # (K, K) P(given j | true i)
    scale: NDArray[np.float64]  # (K,)
    shift: NDArray[np.float64]  # (K,)

    def likelihood(self, shortlist: Shortlist, labels: NDArray[np.int64]) -> NDArray[np.float32]:
        """T[k, label] of every class k on the shortlist, (n, m)."""
        return self.T[shortlist.classes, labels[:, None]].astype(np.float32)


def before(shortlist: Shortlist, channel: Channel) -> NDArray[np.float32]:
    """η over the shortlist, (n, m)."""
    return scaled(np.log(floored(shortlist.probs)), shortlist.classes, channel.scale, channel.shift)


def after(prior: NDArray[np.float32], likelihood: NDArray[np.float32]) -> NDArray[np.float32]:
    """r over the shortlist, (n, m), from η and the likelihood of the labels, which must be on the shortlist."""
    joint = prior * likelihood
    joint /= joint.sum(1, keepdims=True)
    return joint


def wrong(shortlist: Shortlist, seen: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 - r[given]: the probability that the label is wrong, summed over the others so that small ones stay exact."""
    rest: NDArray[np.float32] = np.where(shortlist.classes == labels[:, None], np.float32(0), seen)
    total: NDArray[np.float64] = rest.sum(1, dtype=np.float64)
    return total


def scaled(
    logs: NDArray[np.float32], classes: NDArray[np.int32], scale: NDArray[np.float64], shift: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Softmax of scale · log p + shift over the last axis."""
    logits = scale.astype(np.float32)[classes]
    logits *= logs
    logits += shift.astype(np.float32)[classes]
    logits -= logits.max(1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(1, keepdims=True)
    return logits
