"""Part-dependent noise by the random numbers of public code: with its seed, the very labels that papers trained on.

Xia et al. 2020, "Part-dependent label noise"; Yao et al. 2021.
Fidelity: that code multiplies in single precision, so that a label may differ in a row whose draw falls on an edge.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.noise.flip import finished, labels, pick
from labelnoise.noise.instance import cut_normal, flat
from labelnoise.noise.matrix import check_rate
from labelnoise.types import Array

ROWS = 1024  # that are made doubles at once


def published_instance(x: Array, y: Array, rate: float, *, classes: int, seed: int, details: bool = False) -> Any:
    """`instance_dependent` as public code draws it from numpy's old generator, whose seed this is.

    Give it the whole training set in the order of its files, before any split, with pixels from 0 to 255: every number
    depends on the number of rows. For anything but comparing with public code `instance_dependent` is better.
    """
    check_rate(rate)
    true, stream = labels(y, classes), np.random.RandomState(seed)
    inputs = flat(x, len(true))
    rates = cut_normal(rate, stream.uniform(size=len(true)))
    P = np.empty((len(true), classes))
    for label in range(classes):
        W = torch.from_numpy(stream.randn(inputs.shape[1], classes))
        for rows in _some(np.flatnonzero(true == label)):
            scores = inputs[torch.from_numpy(rows)].double() @ W  # (n, K)
            scores[:, label] = -torch.inf
            P[rows] = rates[rows, None] * scores.softmax(1).numpy()
            P[rows, label] = 1 - rates[rows]
    return finished(y, pick(P, stream.uniform(size=len(true))), P if details else None)


def _some(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]
