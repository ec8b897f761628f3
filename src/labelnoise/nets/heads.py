"""Heads that return more than logits."""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.nets.base import make_head

SMALLEST_SCALE = 1e-3


class NoisyLogits(NamedTuple):
    """Normal logits with mean `loc` and covariance diag(scale²) + factors factorsᵀ."""

    loc: Tensor  # (B, K)
    scale: Tensor  # (B, K), at least 1e-3
    factors: Tensor  # (B, K, R)


class HeteroscedasticHead(nn.Module):
    """Input-dependent normal logits, with a diagonal covariance or one of R further factors.

    loc and factors are linear in the features, scale = softplus(linear) + 1e-3; each with Glorot weights and zero bias.
    Collier et al., Correlated input-dependent label noise in large-scale image classification, CVPR 2021.
    """

    def __init__(self, features: int, classes: int, factors: int = 0) -> None:
        super().__init__()
        if not 0 <= factors <= classes:
            raise InputError(f"factors must be a number from 0 to the {classes} classes, not {factors}")
        self.shape = (classes, factors)
        self.loc = make_head(features, classes)
        self.scale = make_head(features, classes)
        self.factors = make_head(features, classes * factors) if factors else None

    def forward(self, features: Tensor) -> NoisyLogits:
        """The law of the logits given features (B, F)."""
        loc: Tensor = self.loc(features)
        scale = F.softplus(self.scale(features)) + SMALLEST_SCALE
        if self.factors is None:
            return NoisyLogits(loc, scale, loc.new_zeros(*loc.shape, 0))
        return NoisyLogits(loc, scale, self.factors(features).unflatten(-1, self.shape))
