"""Heads that return more than logits."""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.errors import InputError
from labelnoise.losses.normal import scale_width
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


class CentredLogits(NamedTuple):
    """Normal logits relative to the last category, with mean `mu` and a covariance that `c` describes."""

    mu: Tensor  # (B, d), d the classes, or one less without dummy class
    c: Tensor  # (B, d), (B, 1) or (B, 0)


class LogisticNormalHead(nn.Module):
    """Input-dependent normal logits for `LogisticNormalLoss`: mu and c, both linear with Glorot weights and zero bias.

    Englesson et al., Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023.
    """

    def __init__(self, features: int, classes: int, covariance: str = "full", dummy: bool = True) -> None:
        super().__init__()
        d = classes if dummy else classes - 1
        width = scale_width(covariance, d)
        self.mu = make_head(features, d)
        self.c = make_head(features, width) if width else None  # zero weights would never move

    def forward(self, features: Tensor) -> CentredLogits:
        """The law of the logits given features (B, F)."""
        mu: Tensor = self.mu(features)
        return CentredLogits(mu, mu[..., :0] if self.c is None else self.c(features))
