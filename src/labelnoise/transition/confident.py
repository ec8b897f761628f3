"""The confident joint: examples counted by given label and by the class the network is confident of.

A class is a candidate for an example whose probability of it is at least t_j, the mean probability of class j over the
examples given j. The likeliest candidate counts as true, and an example without candidates is not counted. Each given
class is then scaled to the number of its labels, and T[i, j] is the share of given j in what counts as true class i.
Northcutt et al., Confident learning: estimating uncertainty in dataset labels, JAIR 2021.
Probabilities must be out of sample, as cross-validation gives them: a network that has learnt an example by heart is
confident of whatever label it was given, and T comes out too clean.
"""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.metrics import pair_counts, shares
from labelnoise.transition.checked import checked_pair
from labelnoise.types import Array

ROUNDING = 1e-9  # the mean of equal numbers may exceed them by some last digits


def estimate_confident(probs: Array, labels: Array) -> Tensor:
    """T (K, K) in float64 from out-of-sample noisy posteriors (N, K) and given labels (N,)."""
    joint = confident_joint(*checked_pair(probs, labels))
    missing = (joint.sum(0) == 0).nonzero()
    if len(missing):
        label = int(missing[0])
        given = bool((torch.as_tensor(labels) == label).any())
        raise InputError(
            f"no example is confidently of class {label}, so its row of T is unknown;"
            f" give a better trained network{'' if given else ' and data in which the class is given'}"
        )
    return shares(joint.T)


def confident_joint(probs: Tensor, labels: Tensor) -> Tensor:
    """Calibrated counts (K given, K true): each row sums to the number of those given labels."""
    classes = probs.shape[1]
    given = torch.bincount(labels, minlength=classes)
    own = probs.gather(1, labels[:, None])[:, 0]
    thresholds = (
        torch.bincount(labels, weights=own, minlength=classes) / given
    )  # NaN, which nothing reaches, without any
    confident = probs >= thresholds - ROUNDING
    counted = confident.any(1)
    true = probs.masked_fill(~confident, -1).argmax(1)
    counts = pair_counts(labels[counted], true[counted], classes)
    return shares(counts).nan_to_num(0) * given[:, None]
