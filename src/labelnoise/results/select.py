"""Which epoch speaks for a run: selection rules as objects, apart from training."""

from collections.abc import Sequence
from statistics import mean
from typing import Protocol

from labelnoise.results.record import Record

TEST = ("test/accuracy_true", "test/accuracy_given")  # the first that was measured


def accuracy_on_test(record: Record) -> float:
    """Accuracy on the test part: against true labels where they are known, else against given ones."""
    return next(record.measures[name] for name in TEST if name in record.measures)


def last_ten(history: Sequence[Record]) -> float:
    """Mean accuracy on the test part over the last ten epochs, or what there are: what co-teaching's papers report."""
    latest = sorted(history, key=lambda record: record.epoch)[-10:]
    return mean(accuracy_on_test(record) for record in latest)


class Selection(Protocol):
    """A rule that picks one record of a run's history."""

    name: str

    def pick(self, history: Sequence[Record]) -> Record:
        """The record that speaks for the run."""


class Last:
    """The last epoch: what a person gets who stops nowhere."""

    name = "last"

    def pick(self, history: Sequence[Record]) -> Record:
        """The record of the latest epoch."""
        return max(history, key=lambda record: record.epoch)


class NoisyValidation:
    """The best epoch of the last stage on noisy validation, the earliest of equals: what a person can choose."""

    name = "selected"

    def pick(self, history: Sequence[Record]) -> Record:
        """The record with the highest validation score."""
        return max(_last_stage(history), key=lambda record: (record.measures["validation/score"], -record.epoch))


class Oracle:
    """The best epoch of the last stage on the test part: nobody can choose it, papers sometimes report it."""

    name = "oracle"

    def pick(self, history: Sequence[Record]) -> Record:
        """The record with the highest test accuracy."""
        return max(_last_stage(history), key=lambda record: (accuracy_on_test(record), -record.epoch))


SELECTIONS: tuple[Selection, ...] = (Last(), NoisyValidation(), Oracle())


def _last_stage(history: Sequence[Record]) -> list[Record]:
    # A warm-up is not yet the method.
    stage = max(history, key=lambda record: record.epoch).stage
    return [record for record in history if record.stage == stage]
