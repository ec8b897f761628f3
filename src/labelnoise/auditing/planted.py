"""Known errors planted into the user's own labels; the model's probabilities stay as they are, nothing is trained.

A row's true class is drawn from its posterior, so that most labels stay what they were, and a label is drawn for it by
the channel. Errors of this making are of the kind that was found, and it is known which they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.shortlist import Shortlist
from labelnoise.rng import Key, uniforms

FEWEST = 0.05  # share of rows that get a planted flip, at least, so that there is something to find


@dataclass(frozen=True)
class Planted:
    """Rows and the labels planted in them."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    true: NDArray[np.int64]  # as drawn; the labels of flips differ from it


def plant_noise(shortlist: Shortlist, seen: NDArray[np.float32], channel: Channel, *key: Key) -> Planted:
    """A label for every row, right or wrong, as the channel draws it; `seen` is the posterior over the shortlist."""
    true = drawn_classes(shortlist, seen, *key)
    labels = _drawn(channel.T, true, *key)
    return Planted(np.arange(len(true)), labels, true)


def plant_flips(shortlist: Shortlist, seen: NDArray[np.float32], channel: Channel, *key: Key) -> Planted:
    """Wrong labels only, in as many rows as are wrong and at least 5 % of all, more in classes that err more."""
    true = drawn_classes(shortlist, seen, *key)
    rate = (1 - channel.T.diagonal())[true]
    share = rate * max(1.0, FEWEST / rate.mean())
    rows = np.flatnonzero(uniforms(len(true), *key, "rows") < share)
    flips = channel.T.copy()
    np.fill_diagonal(flips, 0)
    return Planted(rows, _drawn(flips, true[rows], *key), true[rows])


def drawn_classes(shortlist: Shortlist, seen: NDArray[np.float32], *key: Key) -> NDArray[np.int64]:
    """A class for every row, by weights of those on the shortlist."""
    place = _places(seen, uniforms(len(seen), *key, "true"))
    return shortlist.classes[np.arange(len(seen)), place].astype(np.int64)


def _drawn(T: NDArray[np.float64], true: NDArray[np.int64], *key: Key) -> NDArray[np.int64]:
    """A label for each true class, by weights in its row of T."""
    reached = np.cumsum(T, 1)
    reached /= np.maximum(reached[:, -1:], 1e-300)  # of a class that is never wrong no flip is drawn
    reached += np.arange(len(T))[:, None]  # one rising sequence: row i goes from i to i + 1
    place = np.searchsorted(reached.ravel(), true + uniforms(len(true), *key, "label"), side="right")
    labels: NDArray[np.int64] = np.minimum(place - true * len(T), len(T) - 1)
    return labels


def _places(weights: NDArray[np.float32], chance: NDArray[np.float64]) -> NDArray[np.int64]:
    reached = np.cumsum(weights, 1, dtype=np.float64)
    below: NDArray[np.bool_] = reached <= (chance * reached[:, -1])[:, None]
    places: NDArray[np.int64] = below.sum(1, dtype=np.int64)
    return places
