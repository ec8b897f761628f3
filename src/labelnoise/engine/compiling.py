"""Objectives compiled once for all runs that differ in numbers alone: weights, labels, draws, hyper-parameters."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial

import torch
from torch.func import functional_call, vmap

from labelnoise.engine.lane import Lane
from labelnoise.engine.step import Given, Step, Tensors, Time, objective
from labelnoise.methods.base import Method, structure
from labelnoise.types import Terms


class Compiler:
    """Compiles the objectives of a stage at their first call; lanes that share one share what it has compiled."""

    def __init__(self, backend: str = "inductor") -> None:
        torch._dynamo.reset()  # it keeps a few versions of one function, and all objectives are one to it
        self.backend = backend
        self.functions: dict[tuple[Method, str], Callable[..., Terms]] = {}

    def __call__(self, lane: Lane, given: Given, time: Time, update: str) -> Terms:
        """A lane's objective."""
        key = (structure(lane.stage.method), update)
        if key not in self.functions:
            self.functions[key] = self._compiled(lane, update)
        return self.functions[key](lane.params, lane.buffers, lane.hypers, given, time)

    def _compiled(self, lane: Lane, update: str) -> Callable[..., Terms]:
        module = deepcopy(lane.module).to("meta")  # a shell: weights come as arguments
        module.train_only(lane.trains)
        of_run = _objective(module, lane.current[0], update)
        mapped = of_run if lane.runs is None else vmap(of_run, in_dims=(0, 0, 0, 0, None))
        return torch.compile(mapped, dynamic=False, backend=self.backend)


def _objective(module: Step, method: Method, update: str) -> Callable[..., Terms]:
    def of_run(params: Tensors, buffers: Tensors, hypers: Tensors, given: Given, time: Time) -> Terms:
        told = partial(objective, replace(method, **hypers), time=time, update=update)
        result: Terms = functional_call(module, (params, buffers), (told, given))
        return result

    return of_run
