"""How far an estimated transition matrix is from the true one."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor


class MatrixError(NamedTuple):
    """Two distances between matrices."""

    mean_absolute: Tensor  # per entry
    relative_l1: Tensor  # sum of absolute differences over the sum of the truth


def matrix_error(estimate: Tensor | ArrayLike, truth: Tensor | ArrayLike) -> MatrixError:
    """The error of estimates (..., K, K) of a matrix (K, K), or of as many matrices, in float64.

    The l1 error is Σ|T̂ - T| / Σ|T| (Xia et al. 2019); where rows sum to 1 it is K times the mean absolute one.
    """
    true = _double(truth)
    difference = (_double(estimate) - true).abs()
    return MatrixError(difference.mean((-2, -1)), difference.sum((-2, -1)) / true.abs().sum((-2, -1)))


def shares(counts: Tensor | ArrayLike) -> Tensor:
    """The rows of a matrix of counts (..., K, K) as shares; NaN in one that has no counts."""
    each = _double(counts)
    return each / each.sum(-1, keepdim=True)


def _double(matrix: Tensor | ArrayLike) -> Tensor:
    return matrix.double() if isinstance(matrix, Tensor) else torch.from_numpy(np.array(matrix, dtype=np.float64))
