"""Selection as weights: which examples count, without changing a shape or leaving the graph."""

import torch
from torch import Tensor


def weighted_mean(loss: Tensor, weight: Tensor) -> Tensor:
    """Mean of `loss` (B,) over the examples with weight, 0 where none has any."""
    return (loss * weight).sum() / weight.sum().clamp(min=torch.finfo(loss.dtype).tiny)


def keep_smallest(loss: Tensor, rate: Tensor | float) -> Tensor:
    """1 for the smallest losses (B,) when a share `rate` is forgotten, else 0; ties go to the earlier position.

    max(1, floor((1 - rate) B + 1e-9)) examples are kept: 1e-9 repairs products such as (1 - 0.8) * 10 = 1.9999….
    """
    n = loss.shape[0]
    share = 1 - torch.as_tensor(rate, dtype=torch.float64, device=loss.device)
    keep = (share * n + 1e-9).floor().clamp(min=1)
    rank = loss.detach().argsort(stable=True).argsort()
    return (rank < keep).to(loss.dtype)


def disagreement(logits_a: Tensor, logits_b: Tensor) -> Tensor:
    """1 where the two predicted classes differ, else 0; (B,)."""
    return (logits_a.argmax(-1) != logits_b.argmax(-1)).to(logits_a.dtype)


def forget_rate(rate: Tensor | float, epoch: Tensor, ramp: int = 10) -> Tensor:
    """The share forgotten in an epoch: from 0 straight to `rate` over the first `ramp` epochs, both ends counted."""
    return rate * (epoch / max(ramp - 1, 1)).clamp(max=1)
