"""What out-of-fold probabilities say of the labels: how they came about, how many are wrong, how good each one is."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.metrics import shares
from labelnoise.transition.confident import confident_joint


class Quality(NamedTuple):
    """Of all labels, and of each."""

    transition: NDArray[np.float64]  # (K, K) P(given j | true i)
    noise_rate: float
    labels: NDArray[np.float64]  # (n,) probability of the given label


def quality(probs: Tensor, given: Tensor) -> Quality:
    """By the confident joint; a class that nothing is confidently of is taken to be labelled rightly."""
    joint = confident_joint(probs.double(), given)  # given by true
    found = shares(joint.T)
    transition = torch.where(found.isnan(), torch.eye(len(found), dtype=found.dtype), found)
    total = float(joint.sum())
    rate = 1 - float(joint.diagonal().sum()) / total if total else 0.0
    own = probs.double().gather(1, given[:, None]).squeeze(1)
    return Quality(transition.numpy(), rate, own.numpy())
