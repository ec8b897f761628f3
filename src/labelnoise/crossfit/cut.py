"""Rows cut into folds, each of which one network leaves aside: stratified by given label, seeded."""

import numpy as np
import torch
from torch import Tensor

from labelnoise.data.split import Splits
from labelnoise.errors import InputError
from labelnoise.rng import Rng


def possible_folds(folds: int, rows: int) -> tuple[int, tuple[str, ...]]:
    """As many folds as asked for or as there are rows, and a sentence where these are fewer."""
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise InputError(f"folds must be a whole number, at least 2, not {folds!r}: rows are judged by other networks")
    if folds <= rows:
        return int(folds), ()
    return rows, (f"{folds} folds were asked for, but {rows} rows have a label; there are {rows} folds",)


def cut(given: Tensor, folds: int, seed: int) -> list[Splits]:
    """For each fold the rows to learn from, those left aside (`validation`), and those without a label (`test`), -1.

    Every class is dealt to the folds in turn. All folds leave equally many rows aside: one that would lack a row gets
    one of its neighbour as well, which its network does not learn from either.
    """
    unlabelled, rows = (given < 0).nonzero().squeeze(1), (given >= 0).nonzero().squeeze(1)
    rows = rows[Rng(seed, "folds").permutation(len(rows))]
    dealt = rows[given[rows].argsort(stable=True)]  # one class after the other, each in random order
    most = -(-len(dealt) // folds)
    found = []
    for fold in range(folds):
        own = dealt[fold::folds]
        aside = own if len(own) == most else torch.cat([own, dealt[fold - 1 : fold]])  # fold 0 lacks none
        learnt = rows[~torch.isin(rows, aside)]
        found.append(Splits(learnt.sort().values, aside.sort().values, unlabelled))
    return found
