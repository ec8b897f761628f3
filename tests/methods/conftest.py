"""Networks small enough to follow by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labelnoise.nets.base import make_head
from labelnoise.types import Batch, DataSpec, Head


class Table(nn.Module):
    """The same logits whatever the input; they are what learns."""

    def __init__(self, logits: Any) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.as_tensor(logits, dtype=torch.float64).clone())

    def forward(self, x: Tensor) -> Tensor:
        return self.logits


def linear(head: Head) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), make_head(5, head)).double()


@pytest.fixture
def table() -> Callable[[Any], Table]:
    return Table


@pytest.fixture
def labelled() -> Callable[..., Batch]:
    """A batch with these labels, whose inputs hardly matter."""

    def make(labels: list[int], seed: int = 0) -> Batch:
        x = torch.randn(len(labels), 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return Batch(x, torch.tensor(labels), torch.arange(len(labels)))

    return make


@pytest.fixture
def spec() -> DataSpec:
    return DataSpec((4,), 3, 12, linear)
