import math

import pytest
import torch

from labelnoise.config import Named
from labelnoise.engine.executors import EXECUTORS
from labelnoise.speed.blocks import EnoughError
from labelnoise.speed.cases import Bench, Case, images
from labelnoise.speed.running import chosen, engine_rate, ready, run
from labelnoise.testing import Silent

CPU = torch.device("cpu")
SMALL = Case("mnist", Named("mlp", {"widths": "8"}), 64, runs=3, few=(3, 64))


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))


@pytest.fixture
def bench():
    return Bench(CPU, 0.01, rows=2000)


def made(method, watch):
    return ready(SMALL.config(Named(method)), 2, "packed", images("mnist", 2000), device=CPU, watch=watch)


def test_a_training_stands_at_the_beginning_of_its_last_stage():
    training = made("forward", Silent())
    assert [phase.stage.name for phase in training.phases] == ["warm-up", "corrected"]
    assert training.position == (1, training.phases[1].first, 0)
    assert training.executor.lanes[0].aux["T"].shape == (2, 10, 10)


def test_it_runs_until_the_observer_has_enough():
    class Three(Silent):
        def stepped(self, epoch, step, steps):
            super().stepped(epoch, step, steps)
            if self.steps == 3:
                raise EnoughError

    training = made("ce", Three())
    run(training)
    assert (training.observer.steps, training.position.step) == (3, 3)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("method", ["ce", "co_teaching", "t_revision"])
def test_the_engine_has_a_rate(method, executor, bench):
    rate, _ = engine_rate(SMALL, Named(method), 2, executor, bench)
    assert 0 < rate < math.inf


def test_the_rate_counts_the_images_of_all_runs(bench, monkeypatch):
    class Half(Silent):
        step_seconds, note = 0.5, "half a second"

        def stepped(self, epoch, step, steps):
            raise EnoughError

    monkeypatch.setattr("labelnoise.speed.running.Blocks", lambda *_: Half())
    # of 2,000 images 286 are for the test and an eighth of the rest for validation: 24 batches of 63
    assert engine_rate(SMALL, Named("ce"), 2, "packed", bench) == (2 * 63 / 0.5, "half a second")


def test_the_executor_is_the_one_that_a_comparison_takes(bench):
    assert [chosen(SMALL, Named("ce"), runs, bench) for runs in (1, 3)] == ["streams", "packed"]
