"""Losses: per-example functions, and Modules that reduce them.

The functions `cross_entropy` and `gce` are named like their files and imported from there: a name means one thing.
"""

from labelnoise.losses.base import Loss, reduce
from labelnoise.losses.correction import (
    ForwardLoss,
    ReweightLoss,
    forward_corrected,
    importance_weighted,
    mixed_log_probs,
)
from labelnoise.losses.cross_entropy import CELoss
from labelnoise.losses.gce import GCELoss
from labelnoise.losses.heteroscedastic import HeteroscedasticLoss, heteroscedastic_nll, sampled_log_probs

__all__ = [
    "CELoss",
    "ForwardLoss",
    "GCELoss",
    "HeteroscedasticLoss",
    "Loss",
    "ReweightLoss",
    "forward_corrected",
    "heteroscedastic_nll",
    "importance_weighted",
    "mixed_log_probs",
    "reduce",
    "sampled_log_probs",
]
