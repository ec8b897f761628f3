"""The stages of a method laid out on a budget of epochs, and how each is trained."""

from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from labelnoise.config import Optimiser, Schedule, Train
from labelnoise.errors import InputError
from labelnoise.methods.base import Method, Stage

WARM_UP = "warm-up"


class Phase(NamedTuple):
    """A stage with its epochs, counted over the whole training."""

    number: int
    stage: Stage
    first: int
    end: int


def phases(method: Method, epochs: int) -> list[Phase]:
    """The stages of a method on a budget of epochs: shares, rounded, each at least one epoch."""
    stages = method.stages()
    if epochs < len(stages):
        name = method.name or type(method).__name__
        raise InputError(f"epochs is {epochs}, but each of the {len(stages)} stages of {name!r} needs one; give more")
    ends = [round(share * epochs) for share in accumulate(stage.share for stage in stages)]
    for i in range(len(ends)):
        low, high = (ends[i - 1] if i else 0) + 1, epochs - (len(ends) - 1 - i)
        ends[i] = min(max(ends[i], low), high)
    return [Phase(i, stage, ends[i - 1] if i else 0, ends[i]) for i, stage in enumerate(stages)]


def trained_by(stage: Stage, train: Train) -> tuple[Optimiser, Schedule]:
    """Optimiser and schedule of a stage: its own, a warm-up's, or those of all."""
    if stage.name == WARM_UP and train.warm_up.lr:
        return replace(train.optimiser, lr=train.warm_up.lr), train.warm_up.schedule
    return stage.optimiser or train.optimiser, stage.schedule or train.schedule


def carries_best(stage: Stage, train: Train) -> bool:
    """Whether a stage hands on the weights of the epoch that noisy validation prefers, and not the last."""
    return stage.carry == "best" and train.carry == "method"
