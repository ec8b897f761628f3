"""A small network that says how well a prediction and a label go together.

It begins at the probability of the label: one that began elsewhere would teach a classifier to call classes by other
names, of which a divergence knows nothing.
"""

import torch
from torch import Tensor, nn

MOST = 30.0  # a score either way: its exponential must stay finite


class Critic(nn.Module):
    """(B, K) probabilities and (B,) labels to (B,) scores."""

    def __init__(self, classes: int, width: int = 32) -> None:
        super().__init__()
        self.classes = classes
        last = nn.Linear(width, 1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.layers = nn.Sequential(nn.Linear(2 * classes, width), nn.ReLU(), last)

    def forward(self, probs: Tensor, target: Tensor) -> Tensor:
        """The score of each pair."""
        labels = nn.functional.one_hot(target, self.classes).to(probs.dtype)
        scores: Tensor = self.layers(torch.cat([probs, labels], dim=-1)).squeeze(-1)
        return ((probs * labels).sum(-1) + scores).clamp(-MOST, MOST)
