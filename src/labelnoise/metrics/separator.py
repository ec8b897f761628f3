"""Where logistic regression puts the line between two Gaussians when some negatives are labelled positive.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020, Figure 5: means ±(1, 1), covariance 0.01 I, 5 %
of the negatives wrong; the data set `gaussians` has such points.
Fidelity: solved for the whole population. By symmetry only t = (x₁ + x₂) / √2 matters, so no points are drawn.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError

NODES = 64  # of the quadrature over a Gaussian
STEPS = 100  # of Newton, at most; about ten are needed
SMALLEST = 2**-30  # part of a step that is tried
DONE = 1e-13  # a step that is shorter changes nothing
Floats = NDArray[np.float64]


class Separator(NamedTuple):
    """The line slope · t + intercept = 0, t = (x₁ + x₂) / √2."""

    slope: float
    intercept: float

    @property
    def crossing(self) -> float:
        """Where the line crosses t: 0 is best, below 0 it is pushed towards the negatives."""
        return -self.intercept / self.slope

    @property
    def plane(self) -> tuple[float, float, float]:
        """The same line as (a, b, c) of a x₁ + b x₂ + c = 0."""
        return self.slope / math.sqrt(2), self.slope / math.sqrt(2), self.intercept


def separator(alpha: float = 0.0, l2: float = 0.0, *, wrong: float = 0.05, spread: float = 0.1) -> Separator:
    """The minimum of mean logistic loss with labels smoothed by alpha, plus l2 · slope²; the intercept is free.

    `wrong` is the share of negatives that are labelled positive, `spread` the standard deviation of a class.
    """
    if not 0 <= alpha < 1 or l2 < 0 or not 0 < wrong < 1 or spread <= 0:
        raise InputError("a separator needs alpha in [0, 1), l2 at least 0, wrong between 0 and 1 and spread above 0")
    objective = _objective(alpha, l2, wrong, spread)
    found = np.zeros(2)  # slope and intercept; the objective is convex
    for _ in range(STEPS):
        step = objective.newton(found)
        found = found - objective.damping(found, step) * step
        if np.abs(step).max() < DONE * (1 + np.abs(found).max()):
            break
    return Separator(float(found[0]), float(found[1]))


@dataclass(frozen=True)
class _Objective:
    t: Floats  # (n,), points of both classes
    weight: Floats  # (n,), their probability
    target: Floats  # (n,), the probability of a positive label there, smoothed
    l2: float

    def value(self, at: Floats) -> float:
        score = at[0] * self.t + at[1]
        return float(self.weight @ (np.logaddexp(0, score) - self.target * score) + self.l2 * at[0] ** 2)

    def newton(self, at: Floats) -> Floats:
        score = at[0] * self.t + at[1]
        positive, negative = np.exp(-np.logaddexp(0, -score)), np.exp(-np.logaddexp(0, score))
        inputs, penalty = np.stack([self.t, np.ones_like(self.t)]), np.array([2 * self.l2, 0.0])
        gradient = inputs @ (self.weight * (positive - self.target)) + penalty * at
        hessian = (inputs * (self.weight * positive * negative)) @ inputs.T + np.diag(penalty)
        return np.linalg.solve(hessian, gradient)

    def damping(self, at: Floats, step: Floats) -> float:
        # the largest of 1, 1/2, … that makes the objective no worse
        now, size = self.value(at), 1.0
        while size > SMALLEST and self.value(at - size * step) > now:
            size /= 2
        return size


def _objective(alpha: float, l2: float, wrong: float, spread: float) -> _Objective:
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    t = np.concatenate([mean + spread * nodes for mean in (math.sqrt(2), -math.sqrt(2))])
    positive = np.repeat([1.0, wrong], NODES)
    return _Objective(t, np.tile(weights / weights.sum() / 2, 2), (1 - alpha) * positive + alpha / 2, l2)
