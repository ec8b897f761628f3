"""Losses: per-example functions, and Modules that reduce them.

The functions `cross_entropy`, `gce` and `dmi` are named like their files and imported from there: a name means one
thing.
"""

from labelnoise.losses.backward import BackwardLoss, backward_corrected, non_negative
from labelnoise.losses.base import Loss, reduce
from labelnoise.losses.correction import (
    ForwardLoss,
    ReweightLoss,
    forward_corrected,
    importance_weighted,
    mixed_log_probs,
)
from labelnoise.losses.cross_entropy import CELoss
from labelnoise.losses.distillation import DistillationLoss, distilled
from labelnoise.losses.divergences import DIVERGENCES, Divergence, divergence
from labelnoise.losses.dmi import DMILoss
from labelnoise.losses.f_divergence import (
    FDivergenceLoss,
    correction_matrix,
    joint_term,
    product_term,
    variational_difference,
)
from labelnoise.losses.gce import GCELoss
from labelnoise.losses.heteroscedastic import HeteroscedasticLoss, heteroscedastic_nll, sampled_log_probs
from labelnoise.losses.peer import PeerLoss, peer_loss
from labelnoise.losses.smoothing import (
    LabelSmoothingLoss,
    SmearedLoss,
    forward_smoothed,
    label_smoothed,
    smeared,
)

__all__ = [
    "DIVERGENCES",
    "BackwardLoss",
    "CELoss",
    "DMILoss",
    "DistillationLoss",
    "Divergence",
    "FDivergenceLoss",
    "ForwardLoss",
    "GCELoss",
    "HeteroscedasticLoss",
    "LabelSmoothingLoss",
    "Loss",
    "PeerLoss",
    "ReweightLoss",
    "SmearedLoss",
    "backward_corrected",
    "correction_matrix",
    "distilled",
    "divergence",
    "forward_corrected",
    "forward_smoothed",
    "heteroscedastic_nll",
    "importance_weighted",
    "joint_term",
    "label_smoothed",
    "mixed_log_probs",
    "non_negative",
    "peer_loss",
    "product_term",
    "reduce",
    "sampled_log_probs",
    "smeared",
    "variational_difference",
]
