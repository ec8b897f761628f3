"""Accuracy on the rightly and the wrongly labelled part of a training set: what is recovered, and what memorised.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020, Table 3.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.types import Array


class Breakdown(NamedTuple):
    """Shares of rows, each (...) in float64, and NaN where a part is empty.

    Where every row belongs to a class, full_true = (1 - wrong) · clean + wrong · wrong_true, and likewise for given.
    """

    wrong: Tensor  # rows whose given label is wrong
    full_true: Tensor  # all rows, predicted as the true class
    full_given: Tensor  # all rows, predicted as labelled
    clean: Tensor  # rightly labelled rows, predicted so
    wrong_true: Tensor  # wrongly labelled rows, predicted as the true class nevertheless: recovered
    wrong_given: Tensor  # wrongly labelled rows, predicted as labelled: memorised


def breakdown(predicted: Array, y_given: Array, y_true: Array) -> Breakdown:
    """How predicted classes (..., N) agree with given and true labels (..., N), apart for right and wrong labels.

    A row of no class (true label -1) has a wrong label, and counts in no share of rows predicted as the true class.
    """
    guess = torch.as_tensor(predicted).long()
    given, true = (torch.as_tensor(y).long().expand_as(guess) for y in (y_given, y_true))
    wrong, known = given != true, true >= 0
    every = torch.ones_like(wrong)
    return Breakdown(
        wrong=_share(wrong, every),
        full_true=_share(guess == true, known),
        full_given=_share(guess == given, every),
        clean=_share(guess == true, ~wrong),
        wrong_true=_share(guess == true, wrong & known),
        wrong_given=_share(guess == given, wrong),
    )


def _share(holds: Tensor, among: Tensor) -> Tensor:
    return (holds & among).sum(-1).double() / among.sum(-1)
