"""Estimators of the transition matrix from noisy posteriors: (probs, labels) to T."""

from labelnoise.transition.anchor import Quantile, estimate_anchor

__all__ = ["Quantile", "estimate_anchor"]
