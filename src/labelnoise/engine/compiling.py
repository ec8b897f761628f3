"""Work of lanes compiled once for all runs that differ in numbers alone: weights, labels, draws, hyper-parameters."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any
from warnings import warn

import torch
from torch import Tensor
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException
from torch.func import vmap

from labelnoise.engine.channels import eight_at_once
from labelnoise.engine.lane import Lane
from labelnoise.engine.memory import is_shortage
from labelnoise.engine.step import Given, Tensors, Time, objective, of_run, prediction
from labelnoise.methods.base import Method, structure
from labelnoise.types import Nets, Terms

# For packed runs: intermediate results without gaps, which the next product of matrices would have to close; pieces put
# together by one kernel; and what is pooled, since it is read several times, computed once.
PACKED: dict[str, str | int | bool | Callable[..., Any]] = {
    "comprehensive_padding": False,
    "force_pointwise_cat": True,
    "realize_reads_threshold": 3,
}

# For streams that train several networks: kernels of one network together with those of another.
SEVERAL: dict[str, str | int | bool | Callable[..., Any]] = {"combo_kernels": True}

MOST = 100  # functions and shapes at a time: torch takes all for versions of one function, and would keep but a few


class Compiler:
    """Compiles objectives and predictions of a stage at their first call; lanes share what their compiler has compiled.

    What cannot be compiled is called as it is.
    """

    def __init__(self, backend: str | Callable[..., Any] = "inductor") -> None:
        self.backend = backend
        self.functions: dict[Hashable, Callable[..., Any]] = {}
        self._forget()  # also what others have compiled

    def __call__(self, lane: Lane, given: Given, time: Time, update: str) -> Terms:
        """A lane's objective."""

        def told(method: Method, nets: Nets, given: Given, time: Time) -> Terms:
            return objective(method, nets, given, time=time, update=update)

        found: Terms = self._called(lane, f"objective {update}", told, (given, time))
        return found

    def predict(self, lane: Lane, x: Tensor, draws: Tensors, *, noisy: bool) -> Tensor:
        """A lane's prediction."""

        def told(method: Method, nets: Nets, x: Tensor, draws: Tensors, aux: Tensors) -> Tensor:
            return prediction(method, nets, x, draws, aux, noisy=noisy)

        found: Tensor = self._called(lane, f"prediction {noisy}", told, (x, draws, lane.aux))
        return found

    def _called(self, lane: Lane, what: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        with torch._dynamo.config.patch(recompile_limit=MOST), _way_back_too():
            try:
                return self._compiled(lane, what, function, args)
            except FailOnRecompileLimitHit:  # of a long comparison: whoever is called again is compiled again
                self._forget()
                return self._compiled(lane, what, function, args)

    def _forget(self) -> None:
        torch._dynamo.reset()
        self.functions.clear()

    def _compiled(self, lane: Lane, what: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        key = (*_kind(lane), what)
        inputs = (lane.params, lane.buffers, lane.hypers, *args)
        plain = partial(_for_all_runs, lane, function)
        if key not in self.functions:
            options = _options(lane) if self.backend == "inductor" else None
            backend: dict[str, Any] = {"backend": self.backend, "options": options}
            self.functions[key] = torch.compile(plain(), fullgraph=True, dynamic=False, **backend)
        try:
            return self.functions[key](*inputs)
        except TorchDynamoException as problem:  # also of a later call, on inputs of another shape
            if is_shortage(problem):
                raise
            name = lane.current[0].name or type(lane.current[0]).__name__
            warn(f"{name} is not compiled, for torch cannot: {str(problem).splitlines()[0]}", stacklevel=2)
        self.functions[key] = plain()
        return self.functions[key](*inputs)


def _options(lane: Lane) -> dict[str, str | int | bool | Callable[..., Any]] | None:
    if lane.runs is not None:
        return PACKED
    return SEVERAL if len(lane.trains) > 1 else None


def _kind(lane: Lane) -> tuple[Hashable, ...]:
    # networks are as the whole method makes them, whichever stage it is in
    made_by = structure(lane.methods[0]), lane.spec.shape, lane.spec.classes
    return *made_by, structure(lane.stage.method), lane.trains, lane.runs


def _way_back_too() -> AbstractContextManager[Any]:
    # Backward passes are compiled with the forward ones, so that it is known at once whether both can be.
    config: Any = torch._functorch.config
    name = "force_non_lazy_backward_lowering"
    return config.patch(name, True) if hasattr(config, name) else nullcontext()


def _for_all_runs(lane: Lane, function: Callable[..., Any]) -> Callable[..., Any]:
    module = deepcopy(lane.module).to("meta")  # in the lane's mode; weights come as arguments
    if lane.runs is None:
        eight_at_once(module)
        return of_run(module, lane.current[0], function)
    return vmap(of_run(module, lane.current[0], function), in_dims=(0, 0, 0, 0, None))  # all share the time
