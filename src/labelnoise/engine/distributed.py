"""One training by several processes, or in pieces that one after the other fit into memory; no method knows.

Every process is served the same batches and draws the same numbers. Networks are divided by rows (`divide.py`), all
else is computed by each process on the whole batch: per-sample state is then the same everywhere, and what compares
examples compares all of them. Gradients are averaged by hand and not by DistributedDataParallel, whose hooks wait for
`backward()` on all parameters: here gradients are asked for by `torch.autograd.grad`, of one network at a time where
updates are ordered.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from labelnoise.config import Train
from labelnoise.engine import ranks
from labelnoise.engine.divide import divide
from labelnoise.engine.execution import DEFAULT, Execution
from labelnoise.engine.executors import Streams
from labelnoise.engine.lanes import Alone
from labelnoise.engine.step import Step
from labelnoise.methods.base import Method
from labelnoise.types import DataSpec, Head


class Together(Alone):
    """One run whose networks are divided: those of the run's own kind, and those that say so by `row_wise`."""

    def __init__(
        self,
        methods: Sequence[Method],
        spec: DataSpec,
        seeds: Sequence[int],
        like: Tensor,
        execution: Execution = DEFAULT,
        *,
        train: Train,
    ) -> None:
        self.divide = partial(divide, pieces=train.accumulate, synchronised=train.sync_batchnorm)
        self.synchronised = train.sync_batchnorm

        def net(head: Head) -> nn.Module:
            return self.divide(spec.net(head))

        super().__init__(methods, spec._replace(net=net), seeds, like, execution)

    def _take(self, modules: Sequence[Step]) -> None:
        for module in modules[0].modules():
            if getattr(type(module), "row_wise", False):
                self.divide(module)
        super()._take(modules)

    def _grads(self, loss: Tensor, update: str) -> dict[str, Tensor | None]:
        grads = super()._grads(loss, update)
        if ranks.count() == 1:
            return grads
        found = {name: grad for name, grad in grads.items() if grad is not None}
        running = [] if self.synchronised else self._statistics()  # each process has seen other rows
        means = ranks.averaged([*found.values(), *running])
        for place, mean in zip(running, means[len(found) :], strict=True):
            place.copy_(mean)
        return grads | dict(zip(found, means, strict=False))

    def _statistics(self) -> list[Tensor]:
        norms = [module for module in self.module.modules() if isinstance(module, _BatchNorm)]
        return [each for norm in norms for each in (norm.running_mean, norm.running_var) if each is not None]


def distributed(
    methods: Sequence[Method],
    spec: DataSpec,
    seeds: Sequence[int],
    like: Tensor,
    execution: Execution = DEFAULT,
    *,
    train: Train,
) -> Streams:
    """An executor that takes one run after the other, each with all processes.

    Steps are neither recorded nor compiled: processes talk in their midst, and pieces are computed again on the way
    back.
    """
    lane = partial(Together, train=train)
    return Streams(methods, spec, seeds, like, replace(execution, eager=True), lane=lane)
