from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from labelnoise.config import Optimiser, Schedule, Train
from labelnoise.data.loader import Loader
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.loop import Training
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.testing import CLASSES, FEATURES, Silent, blobs, training, varied
from labelnoise.types import DataSpec

PLAIN = {
    "adam": lambda params: torch.optim.Adam(params, lr=0.01, foreach=False, fused=False),
    "sgd": lambda params: torch.optim.SGD(params, lr=0.05, momentum=0.9, foreach=False, fused=False),
}
SETTINGS = {"adam": Optimiser("adam", lr=0.01), "sgd": Optimiser("sgd", lr=0.05, momentum=0.9)}


def network(head):
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, head))


@dataclass(frozen=True)
class Sometimes(CE):
    """Learns from batches whose rows have an odd sum."""

    skips: ClassVar[bool] = True

    def objective(self, nets, batch, ctx):
        odd = (batch.rows.sum() % 2).double()
        return super().objective(nets, batch, ctx)._replace(active={"net": odd})


def engine(executor, optimiser, seeds, method):
    loader = Loader([blobs(seed) for seed in seeds], dtype=torch.float64)
    spec = DataSpec((FEATURES,), CLASSES, loader.samples, network)
    runner = EXECUTORS[executor]([method] * len(seeds), spec, seeds, torch.zeros((), dtype=torch.float64))
    settings = Train(epochs=5, batch=20, optimiser=SETTINGS[optimiser], schedule=Schedule("step", (3,)))
    return Training(runner, loader, spec, settings, observer=Silent())


def by_hand(optimiser, seed, start, method):
    """The loop that everybody writes, fed with the same batches."""
    net = network(CLASSES).double()
    net.load_state_dict(start)
    stepper = PLAIN[optimiser](net.parameters())
    schedule = torch.optim.lr_scheduler.MultiStepLR(stepper, [3])
    loader = Loader([blobs(seed)], dtype=torch.float64)
    for epoch in range(5):
        for batch, _ in loader.epoch(epoch, 20):
            stepper.zero_grad()
            F.cross_entropy(net(batch.x[0]), batch.y[0]).backward()
            if not method.skips or batch.rows.sum() % 2:
                stepper.step()
        schedule.step()
    return net.state_dict()


@pytest.mark.parametrize("optimiser", PLAIN)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("method", [CE(), Sometimes()], ids=["every step", "some steps"])
def test_a_training_equals_a_loop_written_by_hand(method, executor, optimiser):
    seeds, prefix = (3, 4), "weights|nets.net."
    trained = engine(executor, optimiser, seeds, method)
    trained.begin(trained.phases[0])
    starts = {name: value.clone() for name, value in trained.executor.state().items() if name.startswith(prefix)}
    trained.finish(trained.phases[0])
    end = trained.executor.state()
    for run, seed in enumerate(seeds):
        start = {name.removeprefix(prefix): value[run] for name, value in starts.items()}
        for name, expected in by_hand(optimiser, seed, start, method).items():
            torch.testing.assert_close(end[prefix + name][run], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["t_revision", "decoupling"])
def test_what_one_executor_left_goes_on_in_the_other(name, tmp_path):
    methods, path = varied(build(name)), tmp_path / "checkpoint.safetensors"
    whole = training(methods, "streams")
    whole.run()
    with pytest.raises(KeyboardInterrupt):
        training(methods, "streams", observer=Silent(leave_after=11), checkpointer=Checkpointer(path, 0.0)).run()
    other = training(methods, "packed", checkpointer=Checkpointer(path))
    other.resume()
    other.run()
    for key, value in whole.state().items():
        torch.testing.assert_close(other.state()[key], value, rtol=0, atol=1e-8)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_everything_that_comes_out_has_the_run_axis_first(executor):
    started = training([build("peer_loss")] * 3, executor)
    started.begin(started.phases[0])
    batch, peers = next(started.loader.epoch(0, 20, peers=2))
    terms = started.executor.step(batch, peers, {}, started.clock(started.phases[0], 0, 4))
    assert {terms.loss.shape, *(value.shape for value in terms.logs.values())} == {(3,)}
    assert started.executor.log_probs(batch.x).shape == (3, batch.x.shape[1], CLASSES)
    assert {len(value) for value in started.executor.state().values()} == {3}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_aux_reaches_each_run_its_own_rows(executor):
    started = training([build("forward")] * 3, executor)
    started.executor.enter(1, started.train.optimiser)
    T = torch.eye(CLASSES, dtype=torch.float64).expand(3, -1, -1).clone()
    T[1] = 1 / CLASSES
    started.executor.set_aux({"T": T})
    x = next(started.loader.chunks("test", 5)).x
    noisy, true = started.executor.log_probs(x, noisy=True), started.executor.log_probs(x)
    torch.testing.assert_close(noisy[[0, 2]], true[[0, 2]], rtol=0, atol=1e-6)
    torch.testing.assert_close(noisy[1].exp(), torch.full_like(noisy[1], 1 / CLASSES), rtol=0, atol=1e-6)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_function_is_applied_to_each_run_with_its_estimates_and_its_rows(executor):
    started = training([build("gce", {"q": q}) for q in (0.1, 0.5, 0.9)], executor)
    started.executor.enter(0, started.train.optimiser)
    started.executor.set_aux({"base": torch.tensor([10.0, 20, 30])})

    def function(method, nets, aux, x, y):
        assert not nets["net"].training
        return {"sum": (x * y).sum(-1) + aux["base"], "q": (torch.zeros(1) + method.q,)}

    x, y = torch.arange(12.0).reshape(3, 2, 2), torch.tensor([1.0, 2, 3]).reshape(3, 1, 1)
    found = started.executor.apply(function, x, y)
    assert found["sum"].tolist() == [[11, 15], [38, 46], [81, 93]]
    torch.testing.assert_close(found["q"][0], torch.tensor([[0.1], [0.5], [0.9]]), check_dtype=False)


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_estimates_in_new_places_are_recorded_anew_and_others_are_not(executor, monkeypatch):
    found = training([CE(), CE()], executor, seeds=(0, 1))
    found.begin(found.phases[0])
    entered = []
    for player in found.executor.players:
        monkeypatch.setattr(player, "entered", lambda: entered.append(1))
    counts = []
    for value in (torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2, 4)):
        found.executor.set_aux({"w": value})
        counts.append(len(entered))
        kept = torch.cat([lane.by_run(lane.aux["w"]) for lane in found.executor.lanes])
        assert torch.equal(kept, value)
    lanes = len(found.executor.lanes)
    assert counts == [lanes, lanes, 2 * lanes]
