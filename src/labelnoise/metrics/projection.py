"""The features of a network on the plane through the weight vectors of three classes.

Müller et al., When does label smoothing help?, NeurIPS 2019; of wrong labels in Lukasik et al. 2020, Figure 4.
The scores of a class fall with the distance from its weight vector, up to the vector's own length, so that clusters
in this plane are what the last layer tells apart.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.types import Array

FLAT = 1e-12  # the sine of an angle between two directions below which they are one


def project(features: Array, weights: Array, classes: tuple[int, int, int], bias: Array | None = None) -> Tensor:
    """Coordinates (..., N, 2), in float64, of features (..., N, D) by the last layer's weights (..., K, D).

    The first class of `classes` lies at the origin, the second to its right, the third above. A bias (..., K) counts as
    one more weight, of a feature that is always 1.
    """
    phi, w = torch.as_tensor(features).double(), torch.as_tensor(weights).double()
    if len({*classes}) < 3 or not all(0 <= each < w.shape[-2] for each in classes):
        raise InputError(f"a projection needs three different classes from 0 to {w.shape[-2] - 1}, not {classes}")
    if bias is not None:
        w = torch.cat([w, torch.as_tensor(bias).double().unsqueeze(-1)], -1)
        phi = torch.cat([phi, torch.ones_like(phi[..., :1])], -1)
    origin, right, up = (w[..., each, :] for each in classes)
    first, second = right - origin, up - origin
    across = _unit(first)
    rise = second - (second * across).sum(-1, keepdim=True) * across
    if (rise.norm(dim=-1) <= FLAT * second.norm(dim=-1)).any():
        raise InputError(f"the weights of the classes {classes} lie on one line; choose other classes")
    return (phi - origin.unsqueeze(-2)) @ torch.stack([across, _unit(rise)], -1)


def _unit(vector: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vector, dim=-1, eps=0)
