"""The stages of a method laid out on a budget of epochs."""

from itertools import accumulate
from typing import NamedTuple

from labelnoise.errors import InputError
from labelnoise.methods.base import Method, Stage


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
