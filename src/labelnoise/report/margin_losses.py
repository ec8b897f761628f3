"""Losses of two classes by the margin z of the label, for a picture: the logits are (z, 0), the label is the first.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020, Figure 1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from labelnoise.losses import BackwardLoss, CELoss, ForwardLoss, LabelSmoothingLoss
from labelnoise.report.paper_figures import Family

REACH, STEPS = 6.0, 241
LossOf = Callable[[Tensor], Tensor]  # margins (n,) -> losses (n,)


def logits(z: Tensor) -> Tensor:
    """(n, 2), of which the first is the label's."""
    return torch.stack([z, torch.zeros_like(z)], -1)


def first(z: Tensor) -> Tensor:
    """The label, (n,)."""
    return torch.zeros(len(z), dtype=torch.long)


def by(loss: nn.Module) -> LossOf:
    """A loss of single examples, whose reduction is "none"."""
    return lambda z: loss(logits(z), first(z))


def family(title: str, curves: Mapping[str, LossOf], **look: Any) -> Family:
    """Losses with their derivatives, taken by autograd."""
    z = torch.linspace(-REACH, REACH, STEPS, dtype=torch.float64)
    found = {}
    for name, loss in curves.items():
        at = z.clone().requires_grad_()
        value = loss(at)
        (slope,) = torch.autograd.grad(value.sum(), at)
        found[name] = (value.detach().numpy(), slope.numpy())
    return Family(title, np.asarray(z), found, **look)


def smearing(alpha: float) -> Family:
    """Cross-entropy, smoothed by alpha, and corrected for symmetric noise that redraws a share of alpha."""
    T = [[1 - alpha / 2, alpha / 2], [alpha / 2, 1 - alpha / 2]]
    losses = {
        "CE": CELoss(reduction="none"),
        "label smoothing": LabelSmoothingLoss(alpha, reduction="none"),
        "backward": BackwardLoss(T, reduction="none"),
        "forward": ForwardLoss(T, reduction="none"),
    }
    return family(f"Smoothing and correction, α = {alpha}", {name: by(loss) for name, loss in losses.items()})
