from collections.abc import Callable

import pytest
import torch

from labelnoise.config import Value
from labelnoise.nets import build
from labelnoise.types import Head


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    torch.manual_seed(0)


@pytest.fixture
def parameters() -> Callable[..., int]:
    """The number of parameters of a network, found without giving it any memory."""

    def count(name: str, shape: tuple[int, ...], head: Head, **settings: Value) -> int:
        with torch.device("meta"):
            net = build(name, shape, head, settings)
        return sum(parameter.numel() for parameter in net.parameters())

    return count


@pytest.fixture
def sizes() -> Callable[..., list[int]]:
    """The width of the square maps that the layers of a network's body return, each size named once, in order."""

    def observe(name: str, shape: tuple[int, ...], **settings: Value) -> list[int]:
        with torch.device("meta"):
            net = build(name, shape, 10, settings).eval()
            x = torch.empty(1, *shape)
            seen = []
            for layer in net.body:
                x = layer(x)
                if x.ndim == 4 and x.shape[-1] not in seen:
                    seen.append(x.shape[-1])
        return seen

    return observe
