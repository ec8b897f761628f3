"""What a method says of single training rows, in R runs: kept of some, for a report to tell right from wrong."""

import torch
from torch import Tensor

from labelnoise.data.loader import Loader
from labelnoise.engine.evaluate import Pause
from labelnoise.engine.executors import Executor
from labelnoise.engine.step import Tensors
from labelnoise.methods.base import Method
from labelnoise.types import Batch, Context, Nets

MOST = 2_000  # rows, evenly spread
TOGETHER = 500  # however many runs there are: a method may rank the rows that it is shown together


def examined(executor: Executor, loader: Loader, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """What `Method.examine` finds in some training rows, the run axis first; nothing of methods that find nothing.

    examined_NAME (R, n): its numbers. examined_wrong (R, n): whether the label is wrong, where the truth is known.
    """
    stride = -(-loader.samples // MOST)
    part, found = loader.parts["train"].every(stride), list[Tensors]()
    places = torch.arange(0, loader.samples, stride, device=loader.device).expand(executor.runs, -1)
    chunks = loader.chunks("train", TOGETHER, stride)
    for chunk, rows in zip(chunks, torch.split(places, TOGETHER, dim=1), strict=True):
        found.append(executor.apply(_of_run, chunk.x, torch.stack([chunk.y_given, rows], dim=1)))
        if not found[0]:
            return {}
        pause()
    together = {f"examined_{name}": torch.cat([each[name] for each in found], dim=1) for name in found[0]}
    return together if part.y_true is None else together | {"examined_wrong": part.y_given != part.y_true}


def _of_run(method: Method, nets: Nets, aux: Tensors, x: Tensor, given: Tensor) -> Tensors:
    labels, rows = given
    return dict(method.examine(nets, Batch(x, labels, rows), Context(aux=aux)))
