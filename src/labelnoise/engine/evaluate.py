"""Judging R runs: predictions on every part, compared with given and, where known, with true labels."""

import torch
from torch import Tensor

from labelnoise.data.loader import PARTS, Loader
from labelnoise.engine.executors import Executor

ROWS = 256  # at once; bounds the memory of methods that sample


def evaluate(executor: Executor, loader: Loader) -> dict[str, Tensor]:
    """Measures by name, each (R,) and still on the device.

    `validation/score` is the accuracy of the *given* labels' predictions on noisy validation: what selects a model.
    """
    measures: dict[str, Tensor] = {}
    for part in PARTS:
        sums: dict[str, Tensor] = {}
        for x, y_given, y_true in loader.chunks(part, ROWS):
            log_probs = executor.log_probs(x)
            found = {f"{part}/{name}": value for name, value in _compare(log_probs, y_given, "given").items()}
            if y_true is not None:
                found |= {f"{part}/{name}": value for name, value in _compare(log_probs, y_true, "true").items()}
            if part == "validation":
                found["validation/score"] = _correct(executor.log_probs(x, noisy=True), y_given)
            sums = {name: sums.get(name, 0) + value for name, value in found.items()}
        measures |= {name: value / loader.parts[part].rows.shape[1] for name, value in sums.items()}
    return measures


def training_probs(executor: Executor, loader: Loader) -> Tensor:
    """Predicted probabilities of the training set, (R, N, K)."""
    return torch.cat([executor.log_probs(chunk.x).exp() for chunk in loader.chunks("train", ROWS)], dim=1)


def _compare(log_probs: Tensor, y: Tensor, which: str) -> dict[str, Tensor]:
    nll = -log_probs.gather(-1, y.unsqueeze(-1)).squeeze(-1).sum(-1)
    return {f"accuracy_{which}": _correct(log_probs, y), f"nll_{which}": nll}


def _correct(log_probs: Tensor, y: Tensor) -> Tensor:
    return (log_probs.argmax(-1) == y).sum(-1).to(log_probs.dtype)
