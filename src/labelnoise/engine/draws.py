"""Where random numbers are drawn: few by the host, the same for every device, and many by the device itself."""

import torch
from torch import Tensor

from labelnoise.methods.base import Method
from labelnoise.rng import Rng
from labelnoise.types import DataSpec

FEW = 4096  # numbers of a run and step: to draw so few on a GPU takes longer than to bring them there


def source(method: Method, spec: DataSpec, size: int, device: torch.device) -> torch.device | None:
    """Where a method should draw the numbers of a step with this many rows; None if it draws none."""
    one, two = (sum(each.numel() for each in method.draws(spec, rows, Rng(0)).values()) for rows in (1, 2))
    if not two:
        return None
    return torch.device("cpu") if one + (two - one) * (size - 1) <= FEW else device


def brought(drawn: Tensor, device: torch.device) -> Tensor:
    """On the device, and nobody waits until it is there."""
    return drawn if drawn.device == device else drawn.pin_memory().to(device, non_blocking=True)
