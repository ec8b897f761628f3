"""What the losses share: reductions, the Module that applies them, and log-probabilities in enough precision."""

from typing import Any

import torch
from torch import Tensor, nn

from labelnoise.errors import InputError

REDUCTIONS = ("none", "mean", "sum")


class Loss(nn.Module):
    """A per-example loss, reduced over the batch; drop-in for torch's own."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _checked(reduction)

    def per_example(self, output: Any, target: Tensor) -> Tensor:
        """The loss of each example, (B,)."""
        raise NotImplementedError

    def forward(self, output: Any, target: Tensor) -> Tensor:
        """The loss of the batch: a scalar, or (B,) for the reduction "none"."""
        return reduce(self.per_example(output, target), self.reduction)


def reduce(loss: Tensor, reduction: str) -> Tensor:
    """Per-example losses (B,) as they are, or their mean or sum."""
    if _checked(reduction) == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def widened(x: Tensor) -> Tensor:
    """The tensor in at least float32: half precision is too coarse for differences of log-probabilities."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities (B, K) in at least float32."""
    return widened(logits).log_softmax(-1)


def picked(values: Tensor, target: Tensor) -> Tensor:
    """The entry of each row (B, K) that the class index of `target` (B,) names."""
    if len(values) != len(target):  # torch would take fewer labels without a word
        raise InputError(
            f"{len(values)} rows are predicted, but there are {len(target)} labels; give each row its label"
        )
    return values.gather(-1, target.unsqueeze(-1)).squeeze(-1)


def neighbours(target: Tensor) -> Tensor:
    """The label of the row before: in a shuffled batch an independent draw, and never the row's own."""
    if len(target) < 2:
        raise InputError("a loss that compares a row with another needs batches of at least two")
    return target.roll(1, 0)


def _checked(reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise InputError(f"reduction must be 'none', 'mean' or 'sum', not {reduction!r}")
    return reduction
