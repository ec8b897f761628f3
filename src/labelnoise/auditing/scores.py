"""Single scores of every row, from one reading of the probabilities and a second for the confident joint.

self_confidence    p[given]
margin             p[given] - max p[other]
entropy_adjusted   log p[given] + entropy of p: below 0 where the label surprises more than the model's own doubt does
confident_joint    the class that the model is confident of, by the thresholds of confident learning, is another one
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.shortlist import LONGEST, Shortlist, floored
from labelnoise.auditing.stream import Probs, each_piece

NOBODY = -1  # no class of confidence


@dataclass(frozen=True)
class Scores:
    """What the probabilities say of each row, and the few classes that may be true."""

    shortlist: Shortlist
    own: NDArray[np.float32]  # (n,) probability of the given label; NaN for a row that has none
    entropy: NDArray[np.float32]  # (n,)
    confident: NDArray[np.int64]  # (n,) the likeliest class above its threshold; -1: none

    def columns(self, given: NDArray[np.int64]) -> dict[str, NDArray[np.float32] | NDArray[np.bool_]]:
        """The scores by name."""
        return {
            "self_confidence": self.own,
            "margin": self.own - self.shortlist.best_but(given),
            "entropy_adjusted": np.log(floored(self.own)) + self.entropy,
            "confident_joint": (self.confident != NOBODY) & (self.confident != given) & (given >= 0),
        }


def score(sources: tuple[Probs, ...], given: NDArray[np.int64]) -> Scores:
    """Scores of rows with probabilities (n, K), averaged over the sources, and given labels; -1: none."""
    rows, classes = sources[0].shape
    length = min(LONGEST, classes)
    top, values = np.empty((rows, length), np.int32), np.empty((rows, length), np.float32)
    own, entropy = np.full(rows, np.nan, np.float32), np.empty(rows, np.float32)

    def read(part: slice, probs: Probs) -> None:
        labels, some = given[part], np.arange(len(probs))
        own[part] = np.where(labels >= 0, probs[some, labels], np.nan)
        rest = np.maximum(probs, np.float32(1e-30))
        entropy[part] = -np.einsum("ij,ij->i", probs, np.log(rest, out=rest))
        rest[:] = probs
        for place in range(length):  # the largest, the next, …: quicker than sorting a thousand classes
            best = rest.argmax(1)
            top[part, place], values[part, place] = best, probs[some, best]
            rest[some, best] = -1

    each_piece(sources, read, check=True)
    return Scores(Shortlist(top, values), own, entropy, _confident(sources, own, given))


def _confident(sources: tuple[Probs, ...], own: NDArray[np.float32], given: NDArray[np.int64]) -> NDArray[np.int64]:
    """The likeliest class whose probability reaches the mean that rows given this class have."""
    classes, labelled = sources[0].shape[1], given >= 0
    count = np.bincount(given[labelled], minlength=classes)
    total = np.bincount(given[labelled], weights=own[labelled], minlength=classes)
    thresholds = np.where(count > 0, total / np.maximum(count, 1), np.inf) * (
        1 - 1e-6
    )  # equal numbers reach their mean
    confident = np.empty(len(given), np.int64)

    def read(part: slice, probs: Probs) -> None:
        above = np.where(probs >= thresholds.astype(np.float32), probs, np.float32(-1))
        best = above.argmax(1)
        confident[part] = np.where(above[np.arange(len(best)), best] >= 0, best, NOBODY)

    each_piece(sources, read)
    return confident
