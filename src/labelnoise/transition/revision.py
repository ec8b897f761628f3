"""A transition matrix that is learnt together with a network."""

import torch
from torch import Tensor, nn


class Revision(nn.Module):
    """T with a learnt correction that starts at zero."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.delta = nn.Parameter(torch.zeros(classes, classes))

    def forward(self, T: Tensor) -> Tensor:
        """|T + delta| over its row sums, so that the rows stay distributions."""
        return nn.functional.normalize((T + self.delta).abs(), p=1, dim=-1)
