"""What flows between the layers: five small tuples.

The run axis R is always first and always present outside the step, never inside it: loader, executors and records see
`(R, ...)`, objectives and losses never see R.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Array = Tensor | NDArray[Any]
Head = int | Callable[[int], nn.Module]  # a width for a linear layer, or features -> module
NetFactory = Callable[[Head], nn.Module]
Nets = Mapping[str, nn.Module]


class Batch(NamedTuple):
    """Some training examples; it carries given labels only, so that no method can peek at the true ones."""

    x: Tensor  # (B, ...)
    y: Tensor  # (B,) given, possibly wrong
    rows: Tensor  # (B,) positions in the training set


class Context(NamedTuple):
    """Everything an objective may use besides its networks and its batch."""

    peers: tuple[Batch, ...] = ()  # independently shuffled batches, if declared
    draws: Mapping[str, Tensor] = {}  # random numbers, if declared
    memory: Mapping[str, Tensor] = {}  # this batch's rows of the per-sample state, if declared
    aux: Mapping[str, Tensor] = {}  # made between stages: T, teacher scores, ...
    progress: Tensor = torch.zeros((), dtype=torch.float64)  # 0 at the stage's first step, towards 1 at its last
    epoch: Tensor = torch.zeros((), dtype=torch.float64)  # of the stage, from 0
    epochs: Tensor = torch.ones((), dtype=torch.float64)  # of the stage, in all
    update: str = ""  # static: which of `Method.updates` is running


class Terms(NamedTuple):
    """What an objective returns."""

    loss: Tensor  # scalar to be minimised
    logs: Mapping[str, Tensor] = {}  # scalars for the record
    memory: Mapping[str, Tensor] = {}  # new rows, written back at batch.rows
    active: Mapping[str, Tensor] = {}  # per network 0 or 1: 0 leaves its weights and optimiser state untouched
    kept: Mapping[str, Tensor] = {}  # per network (B,), 0 to 1: how far it learns from each example, for the record


class DataSpec(NamedTuple):
    """What a method may know of the data when it builds its networks, draws and memory."""

    shape: tuple[int, ...]  # of one input
    classes: int
    samples: int  # in the training set
    net: NetFactory  # head -> network
    batch: int = 0  # rows of a training step; 0 where nothing is trained


class Snapshot(NamedTuple):
    """One run's view of its training set, between stages or epochs."""

    probs: Tensor  # (N, K), networks in eval mode, no augmentation
    labels: Tensor  # (N,) given
    progress: float  # of the stage, 0 to 1

    def reached(self, share: float) -> bool:
        """Whether so large a share of the stage's epochs is over."""
        return self.progress > share - 1e-9  # three times a third may be less than one
