from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from labelnoise.engine.execution import Execution
from labelnoise.engine.player import Player, Recorder, player_of
from labelnoise.methods import METHODS, build
from labelnoise.methods.ce import CE
from labelnoise.testing import DOUBLE, TRAIN, training, varied

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize(
    ("device", "execution", "expected"),
    [(CPU, Execution(), Player), (CUDA, Execution(), Recorder), (CUDA, Execution(eager=True), Player)],
)
def test_work_on_a_gpu_is_recorded_unless_told_otherwise(monkeypatch, device, execution, expected):
    monkeypatch.setattr(Recorder, "entered", lambda _: None)  # which would ask for the GPU
    assert type(player_of(SimpleNamespace(like=SimpleNamespace(device=device), execution=execution))) is expected


def test_a_player_gives_what_its_lane_gives():
    found, expected = (training([CE()], seeds=[0]) for _ in range(2))
    for each in (found, expected):
        each.begin(each.phases[0])
    (batch, peers), *_ = found.loader.epoch(0, TRAIN.batch)
    own, clock = type(batch)(*(each[0] for each in batch)), found.clock(found.phases[0], 0, 4)
    given = found.executor.players[0].step(own, peers, {}, clock).get()
    assert torch.equal(given.loss, expected.executor.lanes[0].step(own, peers, {}, clock).loss)
    x = batch.x[0]
    given = found.executor.players[0].log_probs(x).get()
    assert torch.equal(given, expected.executor.lanes[0].log_probs(x))


@NEEDS_GPU
@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_few_rows_are_predicted_by_the_recording_of_many(executor):
    found = training([CE()] * 3, executor, like=DOUBLE.cuda())
    found.begin(found.phases[0])
    x = torch.rand(3, 9, *found.spec.shape, dtype=torch.float64, device="cuda")
    for _ in range(5):
        whole, few = found.executor.log_probs(x), found.executor.log_probs(x[:, :4])
        torch.testing.assert_close(few, whole[:, :4], rtol=1e-12, atol=1e-12)
    assert len(found.executor.players[0].predictions[False].recordings) == 1


@NEEDS_GPU
@pytest.mark.parametrize("executor", ["streams", "packed"])
@pytest.mark.parametrize("name", list(METHODS))
def test_recorded_training_equals_eager_training(name, executor):
    same_recorded(varied(build(name, {})), executor, TRAIN)


@NEEDS_GPU
@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_recorded_training_equals_eager_training_where_the_optimiser_is_renewed(executor):
    same_recorded([CE()] * 3, executor, replace(TRAIN, optimiser=replace(TRAIN.optimiser, renew=True)))


def same_recorded(methods, executor, train):
    settings = {"like": DOUBLE.cuda(), "train": train}
    eager, recorded = (
        training(methods, executor, execution=Execution(eager=eager), **settings) for eager in (True, False)
    )
    for each in (eager, recorded):
        each.run()
    assert recorded.executor.players[0].steps.recordings
    for key, value in eager.executor.state().items():
        torch.testing.assert_close(recorded.executor.state()[key], value, rtol=1e-9, atol=1e-10)
    for one, other in zip(eager.observer.results, recorded.observer.results, strict=True):
        assert [list(each) for each in one.measures.values()] == [list(each) for each in other.measures.values()]
        for run, measures in one.measures.items():
            assert other.measures[run] == pytest.approx(measures, rel=1e-9, abs=1e-10)
