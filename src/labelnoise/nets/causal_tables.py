"""The generative networks of CausalNL for points, tables, and images of other sizes; and its classifier of points.

Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021.
Fidelity: for points in the plane the layers are those of the authors' compiled model, with 5 units; for all else they
are ours.
"""

from math import prod

import torch
from torch import Tensor, nn

from labelnoise.nets.base import Net, register
from labelnoise.types import Head


@register("mlp_moon")
def mlp_moon(shape: tuple[int, ...], head: Head) -> nn.Module:
    """A ReLU layer of 5 and ten more with BatchNorm: CausalNL's classifier of the MOON points."""
    layers = [nn.Flatten(), nn.Linear(prod(shape), 5), nn.ReLU()]
    for _ in range(10):
        layers += [nn.Linear(5, 5), nn.BatchNorm1d(5), nn.ReLU()]
    return Net(nn.Sequential(*layers), 5, head)


class TableTrunk(nn.Module):
    """Input of any shape and label to features, by one ReLU layer."""

    def __init__(self, shape: tuple[int, ...], classes: int, width: int) -> None:
        super().__init__()
        self.features = width
        self.layers = nn.Sequential(nn.Linear(prod(shape) + classes, width), nn.ReLU())

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        """(B, F) of inputs (B, ...) and labels (B, K)."""
        features: Tensor = self.layers(torch.cat([x.flatten(1), label], dim=-1))
        return features


class TableDecoder(nn.Module):
    """Cause and label to an input of any shape, by one ReLU layer and a linear one."""

    def __init__(self, shape: tuple[int, ...], inputs: int, width: int) -> None:
        super().__init__()
        layers = [nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, prod(shape))]
        self.layers = nn.Sequential(*layers, nn.Unflatten(-1, shape))

    def forward(self, z: Tensor, label: Tensor) -> Tensor:
        """(B, ...) of z (B, J) and labels (B, K)."""
        x: Tensor = self.layers(torch.cat([z, label], dim=-1))
        return x
