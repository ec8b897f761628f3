"""Multilayer perceptrons: for tables, and for anything small enough to be flattened."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from torch import nn

from labelnoise.errors import InputError
from labelnoise.nets.base import Net, glorot, register
from labelnoise.types import Head


@register("mlp")
def mlp(shape: tuple[int, ...], head: Head, *, widths: str | int | Sequence[int] = "256,256") -> nn.Module:
    """ReLU layers of these widths on inputs of any shape, with Glorot-uniform weights and zero biases.

    Widths `none` leave the last layer alone: the network is linear, and with `ce` it is logistic regression.
    """
    sizes = [prod(shape), *_parsed(widths)]
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return Net(glorot(nn.Sequential(*layers)), sizes[-1], head)


@register("mlp_2000")
def mlp_2000(shape: tuple[int, ...], head: Head) -> nn.Module:
    """Two ReLU layers of 2,000, the logistic-normal paper's network for two moons and circles."""
    return mlp(shape, head, widths=(2000, 2000))


def _parsed(widths: str | int | Sequence[int]) -> list[int]:
    """Widths as numbers, from "256,256" as a command line has it, or from numbers; "none" has none."""
    if widths == "none":
        return []
    parts = str(widths).split(",") if isinstance(widths, str | int) else widths
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise InputError(f"setting 'widths' must be positive whole numbers such as '256,256', or none, not {widths!r}")
    return numbers
