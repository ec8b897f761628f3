"""T from anchor points: the row of a class is the noisy posterior of the example most surely of that class.

Patrini et al., Making deep neural networks robust to label noise: a loss correction approach, CVPR 2017.
Fidelity: public code drops outliers by zeroing them in place, which corrupts rows read later; here nothing is changed.
It also drops all that equals the quantile; here equal probabilities count as so many examples, so that posteriors of
0 and 1, or rows drawn several times, keep their anchors. Without ties both pick the same example.
"""

import math

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.transition.checked import checked_probs
from labelnoise.types import Array

Quantile = float | str | None  # a string: "auto"

FEW_CLASSES = 20  # with more, the examples of one class are hardly 3 % of the data, and none would be left
USUAL_QUANTILE = 0.97


def estimate_anchor(
    probs: Array, labels: Array | None = None, *, quantile: Quantile = "auto", strict: bool = False
) -> Tensor:
    """T (K, K) in the dtype of the noisy posteriors `probs` (N, K); `labels` are not needed.

    Outliers, with a probability of the class above this quantile of its column, cannot be anchors; None admits all,
    "auto" is 0.97 for up to 20 classes and None for more. A class without an anchor gets the row of the best candidate,
    since a training that estimates T on its way should not end there; `strict` raises an error instead.
    """
    probs = checked_probs(probs)
    T = anchor_rows(probs, quantile)
    if strict:
        check_anchors(probs, T)
    return T


def check_quantile(quantile: Quantile) -> None:
    """Raise where it is none."""
    if quantile != "auto" and (isinstance(quantile, str) or not (quantile is None or 0 < quantile <= 1)):
        raise InputError(
            f"quantile must be above 0 and at most 1, 'auto', or None (null as a setting), not {quantile!r}"
        )


def anchor_rows(probs: Tensor, quantile: Quantile) -> Tensor:
    """The posteriors of the anchors, (K, K), each divided by its sum."""
    check_quantile(quantile)
    if isinstance(quantile, str):
        quantile = USUAL_QUANTILE if probs.shape[1] <= FEW_CLASSES else None
    rows = probs[probs.argmax(0) if quantile is None else _below(probs, quantile)]
    return rows / rows.sum(1, keepdim=True)


def check_anchors(probs: Tensor, T: Tensor) -> None:
    """Raise where a class has no anchor: it must be surer at its own anchor than at those of all other classes.

    That it be the most likely class there is not asked for: where most of its labels are wrong it never is.
    """
    elsewhere = T.masked_fill(torch.eye(len(T), dtype=torch.bool, device=T.device), -torch.inf).amax(0)
    lost = (T.diagonal() <= elsewhere) | (probs.sum(0) < 0.5)  # or no label of the class is to be expected
    if lost.any():
        label = int(T.diagonal().where(lost, torch.inf).argmin())  # of two with the same anchor, it is not this one's
        raise InputError(
            f"class {label} has no anchor: no example is more surely of it than those of other classes; give more "
            f"examples of class {label}, a better trained network, or quantile=None where the class is rare"
        )


def _below(probs: Tensor, quantile: float) -> Tensor:
    """Per class the entry next below the quantile, itself taken as the next higher order statistic; (K,) positions."""
    place = math.ceil(quantile * (len(probs) - 1) - 1e-9)  # 1e-9 repairs products such as 0.07 * 100 = 7.000…1
    value = probs.kthvalue(max(place, 1), dim=0).values
    return (probs == value).byte().argmax(0)  # the first of equals
