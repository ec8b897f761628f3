"""What the nearest rows in an embedding are labelled."""

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError

NEAREST = 10  # rows whose labels are counted


def neighbour_shares(
    embeddings: NDArray[np.float32], given: NDArray[np.int64], classes: int, nearest: int = NEAREST
) -> NDArray[np.float32]:
    """(n, K): shares of the given labels among the nearest other rows that have one (-1: none), by cosine.

    All is equally likely where no other row has a label.
    """
    from sklearn.neighbors import NearestNeighbors

    labelled = np.flatnonzero(given >= 0)
    wanted = min(nearest + 1, len(labelled))  # one more, for a labelled row is its own nearest
    directions = _unit(embeddings)
    found = NearestNeighbors(n_neighbors=wanted).fit(directions[labelled]).kneighbors(directions, return_distance=False)
    rows = labelled[found]  # (n, wanted), nearest first
    other = rows != np.arange(len(given))[:, None]
    kept = other & (np.cumsum(other, axis=1) <= nearest)
    counts = np.zeros((len(given), classes), np.float32)
    np.add.at(counts, (np.nonzero(kept)[0], given[rows[kept]]), 1)
    total = counts.sum(1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.float32(1 / classes))


def checked_embeddings(embeddings: object, rows: int) -> NDArray[np.float32]:
    """A vector of numbers for each row, flattened where it has more axes."""
    array = np.asarray(embeddings)
    if array.dtype.kind not in "biuf" or array.ndim < 2 or len(array) != rows:
        raise InputError(
            f"embeddings must be numbers with a row for each of the {rows} labels, not {array.dtype} of {array.shape}"
        )
    flat = array.reshape(rows, -1).astype(np.float32)
    if not (finite := np.isfinite(flat).all(1)).all():
        raise InputError(f"row {int(finite.argmin())} of embeddings holds NaN or infinity; leave it out or mend it")
    return flat


def _unit(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(embeddings, axis=1, keepdims=True)
    unit: NDArray[np.float32] = embeddings / np.maximum(length, np.finfo(np.float32).tiny)
    return unit
