"""The two kinds of lanes: one run's networks, and those of a whole pack stacked along a run axis."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import stack_module_state, vmap

from labelnoise.engine.channels import channels_last
from labelnoise.engine.convolution import by_rows
from labelnoise.engine.lane import Lane
from labelnoise.engine.step import Step, of_run
from labelnoise.nets.base import Net


class Alone(Lane):
    """One run, called as the ordinary module it is."""

    runs = None

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """One plain call."""
        return self.module(partial(function, self.current[0]), *args)

    def stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        """The one there is."""
        return tensors[0]

    def by_run(self, tensor: Tensor) -> Tensor:
        """A run axis of length one."""
        return tensor.unsqueeze(0)

    def _take(self, modules: Sequence[Step]) -> None:
        self.module = modules[0]
        if self.like.device.type == "cuda":
            channels_last(self.module)
        self.params, self.buffers = dict(self.module.named_parameters()), dict(self.module.named_buffers())


class Stacked(Lane):
    """Many runs as one call, mapped over stacked weights, buffers, labels, draws and hyper-parameters."""

    lowers = Net  # convolutions of others have a group for each run, for which bfloat16 is not known to pay

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """One mapped call."""
        each = of_run(self.module, self.current[0], function)
        return vmap(each)(self.params, self.buffers, self.hypers, *args)

    def stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        """Along a new first axis."""
        return torch.stack(list(tensors))

    def by_run(self, tensor: Tensor) -> Tensor:
        """As it is."""
        return tensor

    def _take(self, modules: Sequence[Step]) -> None:
        self.runs = len(modules)
        self.module = modules[0]
        if self.like.device.type == "cuda":  # a CPU is faster with groups
            by_rows(self.module)
        stacked, self.buffers = stack_module_state(list(modules))
        # The gradient of a mapped linear layer comes transposed: weights that lie so in memory spare a copy per step.
        self.params = {
            name: value.detach().mT.contiguous().mT.requires_grad_() if value.dim() == 3 else value
            for name, value in stacked.items()
        }
