"""Which classes a model has learnt: of any other it cannot say whether a label is right.

A model that never says a class contradicts all labels of it, be they right or wrong. So a class counts as learnt only
where rows that are given it are taken for it clearly more often than rows that are given another.
"""

import numpy as np
from numpy.typing import NDArray

RARELY = 0.1  # share of its own rows taken for a class, below which it is not learnt
HARDLY = 1 / 3  # of the way from chance to agreement with every label; models of use went further
MOSTLY = 3 / 5  # of the labels; with two classes a third of the way is more than that
CLEARLY = 3.0  # standard errors by which a model of any use agrees more with the labels than chance does


def learnt_classes(best: NDArray[np.integer], given: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    """(K,) from the likeliest class and the given label of each row; none is learnt where none but the largest is.

    Of a class that is given to no row there is nothing to judge, so that it counts as learnt where others are.
    """
    rows, said = (np.bincount(each, minlength=classes) for each in (given, best))
    hits = np.bincount(given[best == given], minlength=classes)
    own = hits / np.maximum(rows, 1)
    elsewhere = (said - hits) / np.maximum(len(given) - rows, 1)
    error = np.sqrt(elsewhere * (1 - elsewhere) / np.maximum(rows, 1))
    known = (own >= RARELY) & (own > elsewhere + error)
    found: NDArray[np.bool_] = known | (rows == 0)
    known[rows.argmax()] = False
    return found if known.any() and _beats_chance(rows, said, hits) else np.zeros(classes, np.bool_)


def learnt_little(best: NDArray[np.integer], given: NDArray[np.int64], classes: int) -> bool:
    """The model contradicts two fifths of the labels, and agrees little more than chance: which is wrong is open."""
    rows, said = (np.bincount(each, minlength=classes) for each in (given, best))
    agreement, chance = float(np.mean(best == given)), float(rows @ said) / len(given) ** 2
    return agreement <= MOSTLY and agreement - chance < HARDLY * (1 - chance)


def _beats_chance(rows: NDArray[np.int64], said: NDArray[np.int64], hits: NDArray[np.int64]) -> bool:
    """The model agrees with labels more often than if it knew only how frequent each class is."""
    count = rows.sum()
    chance = float(rows @ said) / count**2
    return bool(hits.sum() / count - chance > CLEARLY * np.sqrt(chance * (1 - chance) / count))
