from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelnoise.config import Optimiser, Schedule, Train, WarmUp
from labelnoise.engine.phases import carries_best, phases, trained_by
from labelnoise.errors import InputError
from labelnoise.methods.base import Method, Stage
from labelnoise.methods.ce import CE


@dataclass(frozen=True)
class Shares(Method):
    """Stages with these shares of the epochs."""

    shares: tuple[float, ...] = (1.0,)

    def stages(self):
        return tuple(Stage(str(i), share, CE()) for i, share in enumerate(self.shares))


@pytest.mark.parametrize(
    ("shares", "epochs", "ends"),
    [
        ((1.0,), 7, [7]),
        ((0.3, 0.3, 0.4), 10, [3, 6, 10]),
        ((0.3, 0.7), 60, [18, 60]),
        ((0.01, 0.99), 10, [1, 10]),
        ((0.99, 0.01), 10, [9, 10]),
        ((0.98, 0.01, 0.01), 3, [1, 2, 3]),
    ],
)
def test_shares_become_epochs(shares, epochs, ends):
    found = phases(Shares(shares), epochs)
    assert [phase.end for phase in found] == ends
    assert [phase.first for phase in found] == [0, *ends[:-1]]
    assert [phase.stage.name for phase in found] == [str(i) for i in range(len(shares))]


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=6), st.integers(0, 60))
def test_every_stage_has_an_epoch_and_none_is_lost(raw, more):
    shares = tuple(share / sum(raw) for share in raw)
    epochs = len(shares) + more
    found = phases(Shares(shares), epochs)
    lengths = [phase.end - phase.first for phase in found]
    assert min(lengths) >= 1
    assert sum(lengths) == epochs


def test_fewer_epochs_than_stages_are_refused():
    with pytest.raises(InputError, match="epochs is 2, but each of the 3 stages of 'Shares' needs one; give more"):
        phases(Shares((0.3, 0.3, 0.4)), 2)


OWN, FALLING, STEPS = Optimiser("adam", lr=3e-3), Schedule("cosine"), Schedule("step", milestones=(2,))
TRAIN = Train(optimiser=Optimiser("sgd", lr=0.01), schedule=FALLING)
WARM = Train(optimiser=Optimiser("sgd", lr=0.01), schedule=FALLING, warm_up=WarmUp(0.1, STEPS))


@pytest.mark.parametrize(
    ("stage", "train", "expected"),
    [
        (Stage("train", 1.0, CE()), WARM, (TRAIN.optimiser, FALLING)),
        (Stage("warm-up", 1.0, CE()), TRAIN, (TRAIN.optimiser, FALLING)),
        (Stage("warm-up", 1.0, CE()), WARM, (Optimiser("sgd", lr=0.1), STEPS)),
        (Stage("revise", 1.0, CE(), optimiser=OWN, schedule=STEPS), WARM, (OWN, STEPS)),
    ],
)
def test_a_stage_is_trained_by_its_own_settings_a_warm_ups_or_those_of_all(stage, train, expected):
    assert trained_by(stage, train) == expected


@pytest.mark.parametrize(
    ("stage", "train", "expected"), [("best", "method", True), ("best", "last", False), ("last", "method", False)]
)
def test_the_best_epoch_is_handed_on_where_the_method_says_so_unless_the_last_is_wanted(stage, train, expected):
    assert carries_best(Stage("warm-up", 0.5, CE(), carry=stage), Train(carry=train)) is expected
