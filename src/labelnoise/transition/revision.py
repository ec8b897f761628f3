"""A transition matrix that is learnt together with a network."""

from typing import Literal

import torch
from torch import Tensor, nn

Project = Literal["abs_row", "none"]


class Revision(nn.Module):
    """T with a learnt correction that starts at zero."""

    def __init__(self, classes: int, project: Project = "abs_row") -> None:
        super().__init__()
        self.project = project
        self.delta = nn.Parameter(torch.zeros(classes, classes))

    def forward(self, T: Tensor, times: Tensor | float = 1.0) -> Tensor:
        """T + times · delta; by `abs_row` its absolute values over their row sums, so that rows stay distributions."""
        revised = T + times * self.delta
        return nn.functional.normalize(revised.abs(), p=1, dim=-1) if self.project == "abs_row" else revised
