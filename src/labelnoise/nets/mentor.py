"""What a MentorNet is made of: a level that follows the losses of the batches, and a network that weighs examples."""

import torch
from torch import Tensor, nn


class Level(nn.Module):
    """A number of the present batch: a statistic, as those of BatchNorm are, that a `MeanLevel` can follow."""

    value: Tensor
    known: Tensor

    def __init__(self, known: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("value", torch.zeros(()))
        self.register_buffer("known", torch.full((), known))  # of a mean, the share that comes from batches

    def forward(self, value: Tensor) -> Tensor:
        """Note the number, in training, and give it back."""
        if self.training:
            self.value.copy_(value.detach())
        return value


class MeanLevel(Level):
    """A running mean of levels; divided by the share it knows, so that it can begin at nothing and yet is not small."""

    def __init__(self) -> None:
        super().__init__(known=0.0)

    def forward(self, value: Tensor, decay: float = 1.0) -> Tensor:
        """The mean as it will be when it has followed a level of this value; with decay 1, as it is."""
        known = (1 - decay + decay * self.known).clamp(min=torch.finfo(self.known.dtype).tiny)
        return ((1 - decay) * value + decay * self.value) / known


class Mentor(nn.Module):
    """Logits (B,) of the weights of examples, from their losses, a level of losses, labels and the share of epochs."""

    def __init__(self, classes: int, width: int = 20, embedding: int = 2) -> None:
        super().__init__()
        self.labels = nn.Embedding(classes, embedding)
        self.layers = nn.Sequential(nn.Linear(3 + embedding, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, loss: Tensor, level: Tensor, y: Tensor, share: Tensor) -> Tensor:
        """One for each example."""
        embedded = self.labels(y)
        numbers = torch.stack([loss, loss - level, share.to(loss.dtype).expand_as(loss)], dim=-1)
        logits: Tensor = self.layers(torch.cat([numbers.to(embedded.dtype), embedded], dim=-1)).squeeze(-1)
        return logits
