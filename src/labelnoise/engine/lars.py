"""LARS: momentum SGD in which each layer has a rate by the size of its weights, so that large batches can be learnt.

You, Gitman and Ginsburg, Large batch training of convolutional networks, 2017. Biases, and scales and shifts of
normalisation, have neither a rate of their own nor weight decay, as in common implementations.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import torch
from torch import Tensor


class LARS(torch.optim.Optimizer):
    """v ← m v + lr · λ (g + β w), w ← w - v, with λ = trust · |w| / (|g| + β |w|) of each layer, or 1 if that is 0.

    Weights of a group that is `stacked` have the runs of a pack along their first axis, and each run its own λ.
    """

    def __init__(
        self,
        params: Iterable[Mapping[str, Any]],
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust: float = 1e-3,
    ) -> None:
        numbers = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust}
        super().__init__([dict(group) for group in params], {**numbers, "stacked": False, "fused": False})

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One step by the gradients that are there."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    state = self.state[weight]
                    if "momentum_buffer" not in state:
                        state["momentum_buffer"] = torch.zeros_like(weight)
                    velocity = state["momentum_buffer"]
                    velocity.mul_(group["momentum"]).add_(group["lr"] * _direction(weight, weight.grad, group))
                    weight.sub_(velocity)
        return loss


def _direction(weight: Tensor, grad: Tensor, group: Mapping[str, Any]) -> Tensor:
    first = 1 if group["stacked"] else 0
    axes = list(range(first, weight.dim()))
    if len(axes) < 2:
        return grad
    of_weight = torch.linalg.vector_norm(weight, dim=axes, keepdim=True)
    of_grad = torch.linalg.vector_norm(grad, dim=axes, keepdim=True)
    decay = group["weight_decay"]
    both = of_weight * of_grad > 0
    rate = torch.where(both, group["trust"] * of_weight / (of_grad + decay * of_weight), 1.0)
    return torch.mul(rate, grad + decay * weight)
