"""Estimators of the transition matrix: from noisy posteriors, (probs, labels) to T, and from pairs of labels."""

from labelnoise.transition.anchor import Quantile, estimate_anchor
from labelnoise.transition.compare import Estimate, Estimates, Interval, estimate
from labelnoise.transition.confident import confident_joint, estimate_confident
from labelnoise.transition.dual import estimate_dual
from labelnoise.transition.known import estimate_known

__all__ = [
    "Estimate",
    "Estimates",
    "Interval",
    "Quantile",
    "confident_joint",
    "estimate",
    "estimate_anchor",
    "estimate_confident",
    "estimate_dual",
    "estimate_known",
]
