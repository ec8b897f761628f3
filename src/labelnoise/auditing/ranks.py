"""The share of wrong labels by ranks: how many labels are contradicted as those of rows of another class would be.

The rank of a label is the share of rows of another class for which the model finds it no likelier. As far as these rows
are of that class, ranks of wrong labels are even from 0 to 1, whatever classes are mixed up and however probabilities
are to be read. Those of right ones are near 1, and vanish towards 0 even where networks are sure of some errors: a
right label is seldom the least likely of all. So the share of wrong labels is the even part of all ranks, in a mixture
with powers of the rank. Where errors go from one class to another and pass for right, rows of the one stand among those
of the other, lift the ranks of wrong labels there, and the share comes out too small.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

from labelnoise.auditing.planted import drawn_classes
from labelnoise.auditing.shortlist import Shortlist
from labelnoise.auditing.stream import Probs, taken
from labelnoise.rng import Key, uniforms

FEWEST, MOST = 16, 128  # rows of other classes with which each is compared,
COMPARED = 200_000  # and all together: the more there are to tell the share from, the fewer are needed for each
POWERS = np.array([1, 2, 4, 8, 16, 64, 256])  # of the rank, as its distribution function: the first is even
ROUNDS = 300


def share_by_ranks(
    sources: tuple[Probs, ...],
    rows: NDArray[np.int64],
    shortlist: Shortlist,
    labels: NDArray[np.int64],
    seen: NDArray[np.float32],
    *key: Key,
) -> float:
    """Of rows at these positions in the sources; `seen` is the posterior of the classes on the shortlist."""
    draws = min(max(COMPARED // len(rows), FEWEST), MOST)
    own = taken(sources, rows, labels)
    others = np.where(shortlist.classes == labels[:, None], np.float32(0), seen) + np.float32(1e-30)
    below, equal = np.zeros((2, len(rows)), np.int64)  # of rows compared, for which the label is less or as likely
    for draw in range(draws):
        true = drawn_classes(shortlist, seen, *key, "of", draw)
        meant = drawn_classes(shortlist, others, *key, "meant", draw)
        value = taken(sources, rows[_members(true, meant, uniforms(len(rows), *key, "row", draw))], labels)
        below += value < own
        equal += value == own
    ties = uniforms(len(rows), *key, "ties") * (equal + 1)
    return even_share(below + ties.astype(np.int64), draws)


def even_share(ranks: NDArray[np.int64], draws: int) -> float:
    """The share of ranks from 0 to `draws` that are even, by maximum likelihood."""
    counts = np.bincount(ranks, minlength=draws + 1)
    mass = betabinom.pmf(np.arange(draws + 1)[:, None], draws, POWERS, 1)  # what each power gives each rank
    weights = np.full(len(POWERS), 1 / len(POWERS))
    for _ in range(ROUNDS):
        part = mass * weights
        weights = (counts / part.sum(1)) @ part / counts.sum()
    return float(weights[0])


def _members(classes: NDArray[np.int64], wanted: NDArray[np.int64], chance: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) a place where `classes` is what is wanted, or any place if there is none."""
    order, size = np.argsort(classes, kind="stable"), np.bincount(classes, minlength=int(wanted.max()) + 1)
    start, among = (np.cumsum(size) - size)[wanted], size[wanted]
    none = among == 0
    places: NDArray[np.int64] = np.where(none, 0, start) + (chance * np.where(none, len(classes), among)).astype(int)
    return order[places]
