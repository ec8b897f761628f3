"""How much predictions tell of labels: the fitness, and divergences from independence.

Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021, Definition 2 and Figure 1.
Both are made of counts, predicted class by label; a confusion matrix will do. With true labels they say what is learnt,
with given ones how closely the noise is fitted.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from labelnoise.types import Array


def pair_counts(predicted: Array, labels: Array, classes: int) -> Tensor:
    """How often each class is predicted for each label, (..., K, K), from (..., N); rows of no class are left out."""
    guess = torch.as_tensor(predicted).long()
    y = torch.as_tensor(labels).long().expand_as(guess)
    place = torch.where(y < 0, classes**2, guess * classes + y)
    counts = torch.zeros(*guess.shape[:-1], classes**2 + 1, dtype=torch.float64, device=guess.device)
    counts = counts.scatter_add(-1, place, torch.ones_like(place, dtype=torch.float64))
    return counts[..., :-1].reshape(*guess.shape[:-1], classes, classes)


def fitness(counts: Array) -> Tensor:
    """FIT(h = y, R = y') = P(h = y | R = y') / P(h = y), (..., y, y'), in float64.

    1 where predictions tell nothing, NaN where a class is never predicted or never a label. A diagonal with given
    labels that is higher than the one with true labels is a sign of memorised noise.
    """
    joint, product = _joint_and_product(counts)
    return joint / product


def divergence_values(counts: Array, divergence: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The divergence of P(h, R) from P(h) P(R), (...): 0 where predictions tell nothing of labels.

    `divergence` makes a number of two tables of probabilities; `labelnoise.losses.divergences` has eight.
    """
    joint, product = _joint_and_product(counts)
    tables = zip(joint.flatten(0, -3), product.flatten(0, -3), strict=True) if joint.ndim > 2 else [(joint, product)]
    return torch.stack([divergence(*pair) for pair in tables]).reshape(joint.shape[:-2])


def _joint_and_product(counts: Array) -> tuple[Tensor, Tensor]:
    joint = torch.as_tensor(counts).double()
    joint = joint / joint.sum((-2, -1), keepdim=True)
    return joint, joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
