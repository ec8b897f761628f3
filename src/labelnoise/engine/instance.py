"""What some methods learn of single inputs beyond their class: T(x), and the input as they would make it."""

from typing import Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from labelnoise.data.loader import Loader
from labelnoise.engine.executors import Executor
from labelnoise.engine.lane import Lane
from labelnoise.engine.step import Tensors
from labelnoise.methods.base import Method
from labelnoise.types import Context, Nets

SHOWN = 16  # test rows that are kept


@runtime_checkable
class Causal(Protocol):
    """A method that knows how an input and its given label come about."""

    def reconstruct(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Inputs (B, ...) made anew."""

    def instance_transition(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """P(given | true = i, x) in row i, (B, K, K)."""


def learns_transition(lane: Lane) -> bool:
    """Whether the method of a lane, in its present stage, has a T(x)."""
    return isinstance(lane.current[0], Causal)


def instance_transition(method: Method, nets: Nets, x: Tensor, aux: Tensors) -> Tensor:
    """T(x), (B, K, K), of a method that learns it."""
    return cast(Causal, method).instance_transition(nets, x, Context(aux=aux))


@torch.no_grad()
def transition(lane: Lane, x: Tensor) -> Tensor:
    """T(x) of inputs as the lane keeps them, in eval mode."""
    lane.module.eval()
    result: Tensor = lane.map(instance_transition, x, lane.aux)
    return result


def shown(executor: Executor, loader: Loader) -> dict[str, Tensor]:
    """Of the first test rows, the run axis first, what the method knows of them; nothing of most methods.

    shown_x (R, n, ...): inputs. shown_reconstruction (R, n, ...): the same made anew. shown_T (R, n, K, K): T(x).
    """
    if not learns_transition(executor.lanes[0]):
        return {}
    x = next(loader.chunks("test", SHOWN)).x
    made, matrix = executor.apply(_of_run, x)
    return {"shown_x": x, "shown_reconstruction": made, "shown_T": matrix}


def _of_run(method: Method, nets: Nets, aux: Tensors, x: Tensor) -> tuple[Tensor, Tensor]:
    made = cast(Causal, method).reconstruct(nets, x, Context(aux=aux))
    return made, instance_transition(method, nets, x, aux)
