"""Losses: per-example functions, and Modules that reduce them.

The functions `cross_entropy`, `gce`, `dmi` and `bi_tempered` are named like their files and imported from there: a name
means one thing.
"""

from labelnoise.losses.backward import BackwardLoss, backward_corrected, non_negative
from labelnoise.losses.base import Loss, reduce
from labelnoise.losses.bi_tempered import BiTemperedLoss
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
from labelnoise.losses.gce import GCELoss, truncated_gce
from labelnoise.losses.heteroscedastic import HeteroscedasticLoss, heteroscedastic_nll, sampled_log_probs
from labelnoise.losses.label_logits import label_height, label_residual, noisy_posterior
from labelnoise.losses.logistic_normal import LogisticNormalLoss, logistic_normal_nll
from labelnoise.losses.normal import attenuated, normal_nll
from labelnoise.losses.peer import PeerLoss, peer_loss
from labelnoise.losses.residuals import squared_residuals
from labelnoise.losses.smoothing import (
    LabelSmoothingLoss,
    SmearedLoss,
    forward_smoothed,
    label_smoothed,
    smeared,
)
from labelnoise.losses.stochastic_labels import StochasticLabelLoss, stochastic_cross_entropy
from labelnoise.losses.tempered import tempered_log_softmax

__all__ = [
    "DIVERGENCES",
    "BackwardLoss",
    "BiTemperedLoss",
    "CELoss",
    "DMILoss",
    "DistillationLoss",
    "Divergence",
    "FDivergenceLoss",
    "ForwardLoss",
    "GCELoss",
    "HeteroscedasticLoss",
    "LabelSmoothingLoss",
    "LogisticNormalLoss",
    "Loss",
    "PeerLoss",
    "ReweightLoss",
    "SmearedLoss",
    "StochasticLabelLoss",
    "attenuated",
    "backward_corrected",
    "correction_matrix",
    "distilled",
    "divergence",
    "forward_corrected",
    "forward_smoothed",
    "heteroscedastic_nll",
    "importance_weighted",
    "joint_term",
    "label_height",
    "label_residual",
    "label_smoothed",
    "logistic_normal_nll",
    "mixed_log_probs",
    "noisy_posterior",
    "non_negative",
    "normal_nll",
    "peer_loss",
    "product_term",
    "reduce",
    "sampled_log_probs",
    "smeared",
    "squared_residuals",
    "stochastic_cross_entropy",
    "tempered_log_softmax",
    "truncated_gce",
    "variational_difference",
]
