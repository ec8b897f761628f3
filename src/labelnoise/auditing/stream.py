"""Probabilities of many rows and classes, read piece by piece, on every core."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError

PIECE = 2**18  # numbers of a piece: it stays in a core's cache
ROUNDING = 0.01  # how far from 1 a row of probabilities may add up, as half precision does

Probs = NDArray[np.float32]
Piece = Callable[[slice, Probs], None]


def each_piece(sources: tuple[Probs, ...], work: Piece, *, check: bool = False) -> None:
    """Give every piece of rows, averaged over the sources, to `work`, in no fixed order; it must not change them."""
    rows, classes = sources[0].shape
    step = max(1, PIECE // classes)

    def piece(start: int) -> None:
        part = slice(start, min(start + step, rows))
        pieces = [np.asarray(source[part], np.float32) for source in sources]
        if check:
            for each in pieces:
                _check(each, start)
        work(part, np.mean(pieces, 0, dtype=np.float32) if len(pieces) > 1 else pieces[0])

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for _ in threads.map(piece, range(0, rows, step)):
            pass


def taken(sources: tuple[Probs, ...], rows: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """The probability of one class in each of some rows, averaged over the sources."""
    total = sum((source[rows, labels] for source in sources), np.zeros(len(rows), np.float32))
    return total / np.float32(len(sources))


def _check(piece: Probs, start: int) -> None:
    with np.errstate(invalid="ignore"):
        fine = (piece.min(1) >= 0) & (np.abs(piece.sum(1) - 1) <= ROUNDING)  # NaN is not fine
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise InputError(
            f"row {start + row} of probs holds no probabilities that add up to 1, but "
            f"{', '.join(f'{value:.3g}' for value in piece[row, :4])}{', …' if piece.shape[1] > 4 else ''}; "
            "give softmax outputs without NaN"
        )
