"""Optimising: `torch.optim` over the networks of one update, learning-rate schedules, and steps that may be skipped."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from labelnoise.config import Optimiser, Schedule
from labelnoise.engine.lars import LARS

OPTIMISERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
    "adagrad": torch.optim.Adagrad,
    "lars": LARS,
}


def factor(schedule: Schedule, epoch: float, epochs: int) -> float:
    """What the learning rate is multiplied with at a (fractional) epoch of a stage of `epochs` epochs."""
    if schedule.name == "cosine":
        return 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    if schedule.name == "step":
        return schedule.gamma ** sum(epoch >= milestone for milestone in schedule.milestones)
    if schedule.name == "linear":
        return min(1.0, (epochs - math.floor(epoch)) / (epochs - schedule.start)) if epochs > schedule.start else 1.0
    return 1.0


def late_beta1(schedule: Schedule, epoch: float) -> float:
    """Adam's first beta at an epoch of a stage, where the schedule changes it; 0 where it does not."""
    return schedule.beta1 if epoch >= schedule.start else 0.0


def make(settings: Optimiser, groups: Sequence[Mapping[str, Any]]) -> torch.optim.Optimizer:
    """The torch optimiser; fused, since one pass over stacked weights is what makes packing pay on a CPU."""
    if settings.name == "lars":
        return LARS(groups, settings.lr, settings.momentum, settings.weight_decay, settings.trust)
    on_cpu = all(param.device.type == "cpu" for group in groups for param in group["params"])
    fused = on_cpu or settings.name != "adagrad"  # of which torch 2.11 has no fused form for CUDA
    own: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay, "fused": fused}
    if settings.name == "sgd":
        own |= {"momentum": settings.momentum, "nesterov": settings.nesterov}
    elif settings.name in ("adam", "adamw"):
        own["betas"] = settings.betas
        own["capturable"] = not on_cpu  # the count of steps lies on the device, so that steps can be recorded there
    return OPTIMISERS[settings.name]([dict(group) for group in groups], **own)


class Updater:
    """Steps the networks of one update; where told so, a run's network and its optimiser state stay as they are.

    `runs` is the length of the run axis, or None without one. With `skips` each network of each run has an optimiser of
    its own over tensors of its own: slower, but a step is taken or left out by a whole optimiser.

    torch's fused CPU kernels read a gradient as if it lay in memory like its parameter, and want both without gaps. So
    what lies transposed is handed over transposed, and a gradient that lies otherwise is copied.
    """

    def __init__(
        self,
        params: Mapping[str, Mapping[str, Tensor]],  # network -> name -> parameter
        settings: Optimiser,
        overrides: Mapping[str, Mapping[str, float]],  # network -> settings of its own
        *,
        runs: int | None = None,
        skips: bool = False,
    ) -> None:
        self.runs, self.skips, self.split = runs, skips, skips and runs is not None
        self.transposed = {
            name for named in params.values() for name, param in named.items() if self._lies_transposed(param)
        }
        self.leaves = {
            network: {name: self._pieces(self._turned(name, param.detach())) for name, param in named.items()}
            for network, named in params.items()
            if named
        }
        stacked = runs is not None and not self.split
        groups = {  # one group of a network, or one for each of its runs
            network: [
                {"params": list(own), "stacked": stacked, **overrides.get(network, {})}
                for own in zip(*named.values(), strict=True)
            ]
            for network, named in self.leaves.items()
        }
        self.optimizers = {"": [make(settings, [group for each in groups.values() for group in each])]}
        if skips:
            self.optimizers = {network: [make(settings, [group]) for group in each] for network, each in groups.items()}
        self.groups = [group for optimizer in self._every_optimizer() for group in optimizer.param_groups]
        self.rates, self.betas, self.scale = [group["lr"] for group in self.groups], settings.betas, 1.0
        self.renew = settings.renew
        self.shared: dict[float, Tensor] = {}  # of a GPU, where a recorded step reads it: the tensor of each rate
        for group, rate in zip(self.groups, self.rates, strict=True):
            if (device := group["params"][0].device).type != "cpu":
                group["lr"] = self.shared.setdefault(rate, torch.full((), rate, dtype=torch.float32, device=device))
        self._prepare()
        self.set_rates(1.0)

    def set_rates(self, scale: float, beta1: float = 0.0, *, first: bool = False) -> None:
        """From now on the learning rates times `scale`; Adam's first beta is `beta1`, or its own where that is 0.

        Before the first step of an epoch what is to be renewed forgets.
        """
        self._scale(scale)
        self._lower(beta1)
        if first and self.renew:
            self._forget()

    def step(self, grads: Mapping[str, Tensor | None], active: Mapping[str, Tensor]) -> None:
        """One step; `active` holds 0 or 1 per network (and run)."""
        if active and not self.skips:
            raise ValueError("a method that returns `active` must declare `skips`")
        for name, leaves in self._named().items():
            grad = grads[name]
            pieces = [None] * len(leaves) if grad is None else self._pieces(self._turned(name, grad))
            for leaf, piece in zip(leaves, pieces, strict=True):
                leaf.grad = None if piece is None else _laid_out_like(leaf, piece)
        for network, optimizers in self.optimizers.items():
            flags = self._pieces(active[network]) if network in active else [None] * len(optimizers)
            for optimizer, flag in zip(optimizers, flags, strict=True):
                _step_if(optimizer, flag)

    def places(self) -> dict[str, list[Tensor]]:
        """The optimiser's own tensors by parameter and kind: one per run, to be read or written."""
        found: dict[str, list[Tensor]] = {}
        for name, leaves in self._named().items():
            for kind in self._of(leaves[0]):
                each = [self._of(leaf)[kind] for leaf in leaves]
                by_run = each if self.split else self._by_run(each[0], leaves[0])
                found[f"{name}|{kind}"] = [self._turned(name, value) for value in by_run]
        return found

    def _every_optimizer(self) -> list[torch.optim.Optimizer]:
        return [optimizer for optimizers in self.optimizers.values() for optimizer in optimizers]

    def _named(self) -> dict[str, list[Tensor]]:
        return {name: leaves for named in self.leaves.values() for name, leaves in named.items()}

    def _lies_transposed(self, param: Tensor) -> bool:
        is_matrix = param.dim() == 2 + (self.runs is not None)
        return is_matrix and not param.is_contiguous() and param.mT.is_contiguous()

    def _turned(self, name: str, tensor: Tensor) -> Tensor:
        return tensor.mT if name in self.transposed and tensor.dim() > 1 else tensor

    def _pieces(self, tensor: Tensor) -> list[Tensor]:
        return list(tensor.unbind()) if self.split else [tensor]

    def _by_run(self, value: Tensor, leaf: Tensor) -> list[Tensor]:
        if self.runs is None:
            return [value]
        # The count of steps is one number for the whole stack.
        return list(value.unbind()) if value.shape == leaf.shape else [value] * self.runs

    def _scale(self, scale: float) -> None:
        if scale == self.scale:
            return
        self.scale = scale
        for rate, place in self.shared.items():
            place.fill_(rate * scale)
        for group, rate in zip(self.groups, self.rates, strict=True):
            if not self.shared:
                group["lr"] = rate * scale

    def _lower(self, beta1: float) -> None:
        for group in self.groups:
            if "betas" in group:
                group["betas"] = (beta1 or self.betas[0], self.betas[1])

    def _prepare(self) -> None:
        # torch makes its state on the first step; made now and set to zero it is the same, and can be kept or loaded
        # into from the start.
        every = [leaf for leaves in self._named().values() for leaf in leaves]
        for leaf in every:
            leaf.grad = torch.zeros_like(leaf)
        self._scale(0.0)
        for optimizer in self._every_optimizer():
            optimizer.step()
        for leaf in every:
            leaf.grad = None
        self._forget()

    def _forget(self) -> None:
        # in its places, which a recorded step reads; all of torch's states begin with zeros
        for leaf in (leaf for leaves in self._named().values() for leaf in leaves):
            for value in self._of(leaf).values():
                value.zero_()

    def _of(self, leaf: Tensor) -> dict[str, Tensor]:
        state: dict[str, Any] = next((own.state[leaf] for own in self._every_optimizer() if leaf in own.state), {})
        return {kind: value for kind, value in state.items() if isinstance(value, Tensor)}


def _step_if(optimizer: torch.optim.Optimizer, flag: Tensor | None) -> None:
    """A step, unless there is a flag and it is 0."""
    if optimizer.defaults["fused"]:
        # So mixed precision leaves out steps whose gradients overflow: the kernel reads the flag, the host need not.
        vars(optimizer)["found_inf"] = None if flag is None else (flag == 0).float()
        optimizer.step()
    elif flag is None or flag > 0:
        optimizer.step()


def _laid_out_like(leaf: Tensor, grad: Tensor) -> Tensor:
    return grad if grad.stride() == leaf.stride() else torch.empty_like(leaf).copy_(grad)
