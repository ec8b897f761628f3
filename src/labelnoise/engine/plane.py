"""What R runs predict all over the plane, where an input is two numbers: decision regions can be drawn from it."""

import torch
from torch import Tensor

from labelnoise.data.loader import Loader
from labelnoise.engine.evaluate import ROWS, Pause
from labelnoise.engine.executors import Executor
from labelnoise.rng import Rng
from labelnoise.types import DataSpec

SIDE = 64  # of the grid
MARGIN = 0.08  # around the training points, as a share of their range
POINTS = 300  # of the training part that are kept, at most
MOST_CLASSES = 8  # more cannot be told apart in one picture


def plane(executor: Executor, loader: Loader, spec: DataSpec, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """Predictions on a grid over the training points, the run axis first; nothing for other inputs, or many classes.

    plane_probs (R, K, 64, 64): of each class, by line from bottom to top. plane_frame (R, 4): left, right, bottom, top,
    as the network sees the inputs. plane_points (R, n, 2): training points, drawn by seed where there are many.
    plane_given (R, n): their given labels. plane_wrong (R, n): whether these are known to be wrong.
    """
    if spec.shape != (2,) or spec.classes > MOST_CLASSES:
        return {}
    points, part = _inputs(loader, pause), loader.parts["train"]
    wrong = torch.zeros_like(part.y_given, dtype=torch.bool) if part.y_true is None else part.y_given != part.y_true
    frame, kept = _frame(points), _some(loader)
    return {
        "plane_probs": _on_grid(executor, frame, pause),
        "plane_frame": frame,
        "plane_points": points.gather(1, kept.unsqueeze(-1).expand(-1, -1, 2)),
        "plane_given": part.y_given.gather(1, kept),
        "plane_wrong": wrong.gather(1, kept),
    }


def _inputs(loader: Loader, pause: Pause) -> Tensor:
    # of the training part, (R, N, 2)
    found = []
    for chunk in loader.chunks("train", ROWS):
        found.append(chunk.x)
        pause()
    return torch.cat(found, dim=1)


def _frame(points: Tensor) -> Tensor:
    low, high = points.amin(1), points.amax(1)  # (R, 2)
    extent = high - low
    room = torch.where(extent > 0, MARGIN * extent, 1.0)  # a column may be constant
    return torch.stack([low - room, high + room], -1).flatten(1)


def _on_grid(executor: Executor, frame: Tensor, pause: Pause) -> Tensor:
    steps = torch.linspace(0, 1, SIDE, dtype=frame.dtype, device=frame.device)
    left, right, bottom, top = frame.unsqueeze(-1).unbind(1)  # (R, 1)
    across, up = left + (right - left) * steps, bottom + (top - bottom) * steps  # (R, 64)
    x = torch.stack([across.repeat(1, SIDE), up.repeat_interleave(SIDE, dim=1)], -1)  # (R, 64 · 64, 2)
    found = []
    for some in torch.split(x, ROWS, dim=1):
        found.append(executor.log_probs(some).exp().transpose(1, 2))  # (R, K, b)
        pause()
    probs = torch.cat(found, dim=-1)
    return probs.reshape(*probs.shape[:2], SIDE, SIDE)


def _some(loader: Loader) -> Tensor:
    # rows of the training part, (R, n)
    orders = [Rng(seed, "plane").permutation(loader.samples)[:POINTS] for seed in loader.seeds]
    return torch.stack(orders).to(loader.device)
