"""Objectives compiled once for all runs that differ in numbers alone: weights, labels, draws, hyper-parameters."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any
from warnings import warn

import torch
from torch._dynamo.exc import TorchDynamoException
from torch.func import functional_call, vmap

from labelnoise.engine.lane import Lane
from labelnoise.engine.memory import is_shortage
from labelnoise.engine.step import Given, Step, Tensors, Time, objective
from labelnoise.methods.base import Method, structure
from labelnoise.types import Terms

# For packed runs: intermediate results without gaps, which the next product of matrices would have to close; pieces put
# together by one kernel; and what is pooled, since it is read several times, computed once.
PACKED: dict[str, str | int | bool | Callable[..., Any]] = {
    "comprehensive_padding": False,
    "force_pointwise_cat": True,
    "realize_reads_threshold": 3,
}


class Compiler:
    """Compiles the objectives of a stage at their first call; lanes that share one share what it has compiled.

    What cannot be compiled is called as it is.
    """

    def __init__(self, backend: str | Callable[..., Any] = "inductor") -> None:
        torch._dynamo.reset()  # it keeps a few versions of one function, and all objectives are one to it
        self.backend = backend
        self.functions: dict[tuple[Method, str], Callable[..., Terms]] = {}

    def __call__(self, lane: Lane, given: Given, time: Time, update: str) -> Terms:
        """A lane's objective."""
        key = (structure(lane.stage.method), update)
        inputs = (lane.params, lane.buffers, lane.hypers, given, time)
        if key in self.functions:
            return self.functions[key](*inputs)
        plain = _for_all_runs(lane, update)
        options = PACKED if lane.runs is not None and self.backend == "inductor" else None
        self.functions[key] = torch.compile(plain, dynamic=False, backend=self.backend, options=options)
        try:
            return self.functions[key](*inputs)
        except TorchDynamoException as problem:
            if is_shortage(problem):
                raise
            name = lane.current[0].name or type(lane.current[0]).__name__
            warn(f"{name} is not compiled, for torch cannot: {str(problem).splitlines()[0]}", stacklevel=2)
        self.functions[key] = plain
        return plain(*inputs)


def _for_all_runs(lane: Lane, update: str) -> Callable[..., Terms]:
    module = deepcopy(lane.module).to("meta")  # a shell: weights come as arguments
    module.train_only(lane.trains)
    of_run = _objective(module, lane.current[0], update)
    return of_run if lane.runs is None else vmap(of_run, in_dims=(0, 0, 0, 0, None))


def _objective(module: Step, method: Method, update: str) -> Callable[..., Terms]:
    def of_run(params: Tensors, buffers: Tensors, hypers: Tensors, given: Given, time: Time) -> Terms:
        told = partial(objective, replace(method, **hypers), time=time, update=update)
        result: Terms = functional_call(module, (params, buffers), (told, given))
        return result

    return of_run
