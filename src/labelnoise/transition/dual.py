"""Dual T: through an intermediate class, which the network predicts, T is a product of two factors.

T = T♣ T♠, where T♣[i, l] = P(intermediate l | true i) comes from anchor points and T♠[l, j] = P(given j | intermediate
l) is counted. Counts are surer than posteriors, so it mends a network that is too sure of itself.
Yao et al., Dual T: reducing estimation error for transition matrix in label-noise learning, NeurIPS 2020.
Fidelity: as in paper and code, T♣ has the posteriors and T♠ the most likely class. So T is exact where posteriors are
0 and 1; of exact noisy posteriors of separable classes it makes T T, which overstates the noise. The authors' code
leaves a row of zeros in T♠ for a class that is never predicted; here it is a row of the identity: no label speaks
against the posterior.
"""

import torch
from torch import Tensor

from labelnoise.metrics import pair_counts, shares
from labelnoise.transition.anchor import Quantile, anchor_rows, check_anchors
from labelnoise.transition.checked import checked_pair
from labelnoise.types import Array


def estimate_dual(probs: Array, labels: Array, *, quantile: Quantile = "auto", strict: bool = False) -> Tensor:
    """T (K, K) in float64 from noisy posteriors (N, K) and given labels (N,).

    `quantile` and `strict` say what is an anchor, and what happens without one, as in `estimate_anchor`.
    """
    probs, labels = checked_pair(probs, labels)
    if strict:
        check_anchors(probs, anchor_rows(probs, quantile))
    return dual_product(probs, labels, quantile)


def dual_product(probs: Tensor, labels: Tensor, quantile: Quantile) -> Tensor:
    """T♣ T♠, (K, K)."""
    counted = shares(pair_counts(probs.argmax(1), labels, probs.shape[1]))  # (K predicted, K given)
    never = counted.isnan()
    return anchor_rows(probs, quantile) @ torch.where(never, torch.eye(len(never)).to(counted), counted)
