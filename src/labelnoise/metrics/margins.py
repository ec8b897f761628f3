"""How far the score of a label stands above the others: densities of it show what a network has memorised.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020, Figures 3 and 7.
Fidelity: the paper speaks of logits but shows a peak near 1; on probabilities the picture is the paper's.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.types import Array


def margins(scores: Array, labels: Array) -> Tensor:
    """score_y - mean_k score_k of each row, (..., N), in float64, from probabilities or logits (..., N, K).

    NaN for a row that belongs to no class (label -1).
    """
    scores = torch.as_tensor(scores).double()
    y = torch.as_tensor(labels).long().expand(scores.shape[:-1])
    own = scores.gather(-1, y.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    return (own - scores.mean(-1)).where(y >= 0, torch.nan)


def margin_counts(found: Array, classes: int, bins: int = 60) -> Tensor:
    """How many margins of probabilities lie in each of equal bins (lo, hi] from -1 / K to 1 - 1 / K, (..., bins)."""
    if bins < 1:
        raise InputError(f"bins must be at least 1, not {bins}")
    each = torch.as_tensor(found).double()
    place = ((each + 1 / classes) * bins).ceil() - 1
    place = place.clamp(0, bins - 1).where(each.isfinite(), bins).long()  # what has no margin lies behind the last
    counts = each.new_zeros(*each.shape[:-1], bins + 1)
    return counts.scatter_add(-1, place, torch.ones_like(each))[..., :bins]
