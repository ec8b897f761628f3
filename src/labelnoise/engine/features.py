"""What R runs make of inputs before their last layer, where that is linear: features to be drawn, and a line."""

from typing import Any

import torch
from torch import Tensor, nn

from labelnoise.data.loader import Loader
from labelnoise.engine.evaluate import Pause, rows_at_once
from labelnoise.engine.executors import Executor
from labelnoise.engine.step import Tensors
from labelnoise.errors import InputError
from labelnoise.methods.base import Method
from labelnoise.metrics.projection import project
from labelnoise.nets import Net
from labelnoise.rng import Rng
from labelnoise.types import DataSpec, Nets

POINTS = 300  # that are kept, at most
SEEN = 900  # training rows that are looked at, at most, for each class there is


def projection(executor: Executor, loader: Loader, spec: DataSpec, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """Features of training rows on the plane of three classes, the run axis first; nothing without a linear last layer.

    projection_classes (R, 3): those with the most given labels, in the order of the data. projection_points (R, n, 2):
    rows with these labels, drawn by seed where there are many. projection_given (R, n): their given labels.
    projection_wrong (R, n): whether these are known to be wrong. Where no plane goes through the weights of the three
    classes, and where a run has failed, points are not finite.
    """
    if spec.classes < 3 or _linear_head(executor, spec.classes) is None:
        return {}
    stride = -(-loader.samples // (SEEN * spec.classes))
    part, classes = loader.parts["train"].every(stride), _frequent(loader.labels, spec.classes)
    kept = _some(part.y_given, classes, loader.seeds)
    wrong = torch.zeros_like(part.y_given, dtype=torch.bool) if part.y_true is None else part.y_given != part.y_true
    found = []
    for chunk in loader.chunks("train", rows_at_once(loader), stride):
        features, weight, bias = executor.apply(_of_run, chunk.x)
        found.append(_projected(features, weight, bias, classes))
        pause()
    return {
        "projection_classes": classes,
        "projection_points": torch.cat(found, dim=1).gather(1, kept.unsqueeze(-1).expand(-1, -1, 2)).float(),
        "projection_given": part.y_given.gather(1, kept),
        "projection_wrong": wrong.gather(1, kept),
    }


def line(executor: Executor, spec: DataSpec) -> dict[str, Tensor]:
    """line (R, 3): a x₁ + b x₂ + c, above 0 for the second of two classes, where the whole network is that line."""
    net = _linear_head(executor, 2) if spec.shape == (2,) and spec.classes == 2 else None
    if net is None or not all(isinstance(each, nn.Sequential | nn.Flatten) for each in net.body.modules()):
        return {}
    _, weight, bias = executor.apply(_of_run, executor.lanes[0].like.new_zeros(executor.runs, 1, 2))
    both = torch.cat([weight, bias.unsqueeze(-1)], -1)  # (R, 2, 3)
    return {"line": both[:, 1] - both[:, 0]}


def _network(nets: Nets) -> nn.Module:
    return nets["net"] if "net" in nets else next(iter(nets.values()))


def _linear_head(executor: Executor, classes: int) -> Net | None:
    # the network, if its last layer is a plain linear one
    net = _network(executor.lanes[0].module.networks)
    if isinstance(net, Net) and type(net.head) is nn.Linear and net.head.out_features == classes:
        return net
    return None


def _of_run(_method: Method, nets: Nets, _aux: Tensors, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # features (B, D) of x, weights (K, D) and biases (K,) of the last layer
    net: Any = _network(nets)
    weight, bias = net.head.weight, net.head.bias
    return net.features(x), weight, weight.new_zeros(len(weight)) if bias is None else bias


def _projected(features: Tensor, weight: Tensor, bias: Tensor, classes: Tensor) -> Tensor:
    # (R, b, 2)
    found = []
    for phi, w, b, (first, second, third) in zip(features, weight, bias, classes.tolist(), strict=True):
        try:
            found.append(project(phi, w, (first, second, third), b))
        except InputError:  # the three weights lie on one line
            found.append(phi.new_full((len(phi), 2), torch.nan, dtype=torch.float64))
    return torch.stack(found)


def _frequent(labels: Tensor, classes: int) -> Tensor:
    # (R, 3), of equally frequent ones the first
    counts = torch.stack([own.bincount(minlength=classes) for own in labels])
    return counts.argsort(dim=1, descending=True, stable=True)[:, :3].sort(dim=1).values


def _some(given: Tensor, classes: Tensor, seeds: list[int]) -> Tensor:
    # places of rows with one of the run's classes, (R, n)
    places = [torch.isin(own, three).nonzero().flatten() for own, three in zip(given, classes, strict=True)]
    most = min(POINTS, *map(len, places))
    orders = [Rng(seed, "projection").permutation(len(own))[:most] for seed, own in zip(seeds, places, strict=True)]
    return torch.stack([own[order.to(own.device)] for own, order in zip(places, orders, strict=True)])
