"""What every network is: a body that turns inputs into features, and a head that reads them."""

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from labelnoise.config import Value
from labelnoise.errors import InputError
from labelnoise.registry import Registry, nearest
from labelnoise.types import Head

NetBuilder = Callable[..., nn.Module]  # (shape of one input, head, *, settings) -> network

NETS: Registry[NetBuilder] = Registry("net")
register = NETS.register


class Lowerable(nn.Module):
    """Layers of this package, which on a GPU may compute in fewer bits and lie in memory as is fastest there."""

    precision: torch.dtype | None = None  # of the layers where it is not that of the weights

    def lowered(self, layers: nn.Module, x: Tensor) -> Tensor:
        """What the layers make of `x` in that precision, in the one of `x` again."""
        if self.precision is None:
            found: Tensor = layers(x)
            return found
        with torch.autocast(x.device.type, self.precision, cache_enabled=False):
            lower: Tensor = layers(x)
        return lower.to(x.dtype)


class Net(Lowerable):
    """head(features(x)); every classifier of this package is one."""

    def __init__(self, body: nn.Module, width: int, head: Head) -> None:
        super().__init__()
        self.body = body
        self.head = make_head(width, head)

    def features(self, x: Tensor) -> Tensor:
        """The penultimate output, (B, width)."""
        return self.lowered(self.body, x)

    def forward(self, x: Tensor) -> Any:
        """Whatever the head returns: logits (B, K) for a linear one."""
        return self.head(self.features(x))


def build(name: str, shape: tuple[int, ...], head: Head, settings: Mapping[str, Value] | None = None) -> nn.Module:
    """The registered network of this name for inputs of this shape, with this head and these settings."""
    own = resolved(name, settings)
    try:
        return NETS.get(name)(shape, head, **own)
    except InputError as error:
        raise InputError(f"net {name!r}: {error}") from error


def resolved(name: str, settings: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """All settings of a network: the given ones, and the defaults of the others."""
    defaults = {key: each.default for key, each in list(signature(NETS.get(name)).parameters.items())[2:]}
    for key in settings or {}:
        if key not in defaults:
            hint = nearest(key, defaults) if defaults else "it has none"
            raise InputError(f"net {name!r} has no setting {key!r}; {hint}")
    return defaults | dict(settings or {})


def make_head(features: int, head: Head) -> nn.Module:
    """A linear layer of the given width, or whatever module the head makes of this many features."""
    return glorot(nn.Linear(features, head)) if isinstance(head, int) else head(features)


def glorot(module: nn.Module) -> nn.Module:
    """The module with Glorot-uniform weights and zero biases in all its linear and convolutional layers."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


def image_shape(shape: tuple[int, ...], smallest: int = 1) -> tuple[int, int, int]:
    """Channels, height and width, once it is known that the inputs are images of a size the network can take."""
    if len(shape) != 3:
        raise InputError(
            f"inputs of shape {shape} are no images (channels, height, width); reshape them or choose net 'mlp'"
        )
    channels, height, width = shape
    if min(height, width) < smallest:
        raise InputError(
            f"inputs of {height}x{width} pixels are too small, the smallest are {smallest}x{smallest}; "
            "enlarge them or choose net 'mlp'"
        )
    return channels, height, width


def one_of(setting: str, value: str, known: Collection[str]) -> str:
    """The value of a setting, once it is known to be one of these."""
    if value not in known:
        raise InputError(f"setting {setting!r} cannot be {value!r}; {nearest(str(value), known)}")
    return value
