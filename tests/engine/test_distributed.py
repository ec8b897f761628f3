"""Trainings by two processes against the same ones by one, in double precision.

Both are started once, by this file as a program, and go through all cases; tests compare what they leave.
"""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
import torch.distributed as dist
from filelock import FileLock
from torch import nn

from labelnoise.config import Optimiser, Train
from labelnoise.data.loader import Loader, batches
from labelnoise.engine import checkpoint, ranks
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.distributed import distributed
from labelnoise.engine.executors import Streams
from labelnoise.engine.interrupt import InterruptError
from labelnoise.engine.loop import Training
from labelnoise.engine.player import Player, Recorder, player_of
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.methods import METHODS, build
from labelnoise.methods.base import Method
from labelnoise.nets import Dropout
from labelnoise.nets.base import make_head
from labelnoise.testing import CLASSES, FEATURES, Silent, Small, blobs
from labelnoise.types import DataSpec, Terms

TRAIN = Train(epochs=4, batch=13, optimiser=Optimiser("adam", lr=1e-2))  # 63 rows: batches of 13, which is odd
LARS = Optimiser("lars", lr=1.0, momentum=0.9, weight_decay=1e-4, trust=0.02)


class Plain(nn.Module):
    """A small network with dropout and no BatchNorm."""

    def __init__(self, head):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 16), nn.ReLU(), Dropout(0.3))
        self.head = make_head(16, head)

    def forward(self, x):
        return self.head(self.layers(x))


@dataclass(frozen=True)
class Remembering(Method):
    """Weighs rows by their mean loss so far."""

    def memory(self, spec):
        return {"mean": torch.zeros(spec.samples), "visits": torch.zeros(spec.samples, dtype=torch.int64)}

    def objective(self, nets, batch, ctx):
        loss = cross_entropy(nets["net"](batch.x), batch.y)
        mean = 0.7 * ctx.memory["mean"] + 0.3 * loss.detach()
        return Terms((loss * (1 + mean)).mean(), memory={"mean": mean, "visits": ctx.memory["visits"] + 1})


@dataclass(frozen=True)
class Halved(Method):
    """Cross-entropy of a network that computes in bfloat16, its weights in single precision."""

    def objective(self, nets, batch, ctx):
        with torch.autocast("cpu", torch.bfloat16):
            logits = nets["net"](batch.x)
            loss = cross_entropy(logits, batch.y).mean()
        return Terms(loss, logs={"halved": torch.tensor(float(logits.dtype == torch.bfloat16))})


class Case(NamedTuple):
    method: Method
    train: Train = TRAIN
    net: type[nn.Module] = Plain


CASES = {name: Case(build(name)) for name in METHODS} | {
    "per-sample memory": Case(Remembering()),
    "gce, truncated": Case(build("gce", {"preset": "truncated"})),
    "f_divergence, peers and critic": Case(build("f_divergence", {"learnt": True, "separate": True})),
    "causal_nl, enumerated": Case(build("causal_nl", {"y_mode": "enumerate"})),
    "noise_against_noise, averaged": Case(build("noise_against_noise", {"average": 0.9})),
    "t_revision, official": Case(build("t_revision", {"preset": "official"})),
    "an even batch": Case(build("ce"), replace(TRAIN, batch=16)),
    "a batch of one": Case(build("ce"), replace(TRAIN, epochs=1, batch=1)),
    "lars": Case(build("ce"), replace(TRAIN, optimiser=LARS)),
    "synchronised BatchNorm": Case(build("co_teaching"), replace(TRAIN, sync_batchnorm=True), Small),
    "in pieces": Case(build("co_teaching"), replace(TRAIN, accumulate=3)),
}
PLAIN_STEP = replace(TRAIN, optimiser=Optimiser("sgd", lr=1.0))  # whose weights show the gradients
HALVED = {
    "halved": Case(Halved(), PLAIN_STEP),
    "halved, in pieces": Case(Halved(), replace(PLAIN_STEP, accumulate=3)),
    "halved, synchronised BatchNorm": Case(Halved(), replace(PLAIN_STEP, sync_batchnorm=True), Small),
}
INTERRUPTED = Case(build("t_revision"), replace(TRAIN, epochs=6))


def prepared(case, *, together=False, observer=None, dtype=torch.float64, **settings):
    loader = Loader([blobs(0)], dtype=dtype)
    spec = DataSpec((FEATURES,), CLASSES, loader.samples, case.net)
    make = partial(distributed, train=case.train) if together else Streams
    runner = make([case.method], spec, [0], torch.zeros((), dtype=dtype))
    return Training(runner, loader, spec, case.train, observer=observer or Silent(), **settings)


def finished(training):
    """All tensors of a training when it has ended, and all it has measured."""
    training.resume()
    training.run()
    measures = {
        (each.epoch, name): value for each in training.observer.results for name, value in each.measures[0].items()
    }
    return training.state() | {f"{epoch}|{name}": torch.tensor(value) for (epoch, name), value in measures.items()}


def stepped(case, *, together=False):
    """What a first step gives, the weights after it, and how many bits the numbers have that processes add up."""
    training, sent, send = prepared(case, together=together, dtype=torch.float32), [], dist.all_reduce

    def noted(tensor, *args, **options):
        sent.append(torch.finfo(tensor.dtype).bits)
        return send(tensor, *args, **options)

    phase = training.phases[0]
    training.begin(phase)
    batch, peers = next(iter(training.loader.epoch(0, case.train.batch, 0, 0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "all_reduce", noted)
        terms = training.executor.step(batch, peers, {}, training.clock(phase, 0, 1))
    return training.executor.state() | terms.logs | {"loss": terms.loss, "bits": torch.tensor(sent)}


class Signalled(Silent):
    """One of two processes gets a signal after so many steps."""

    def stepped(self, epoch, step, steps):
        self.steps += 1
        if self.steps == self.leave_after and ranks.rank() == 1:
            os.kill(os.getpid(), signal.SIGTERM)


def left_by_two(path):
    """Train until a signal comes to one process; where each stood then."""
    with ranks.interrupt() as interrupt:
        checkpointer = Checkpointer(path) if ranks.rank() == 0 else None
        observer = Signalled(leave_after=17)
        training = prepared(
            INTERRUPTED, together=True, observer=observer, checkpointer=checkpointer, interrupt=interrupt
        )
        with pytest.raises(InterruptError, match="SIGTERM"):
            training.run()
    return {"position": torch.tensor(training.position)}


def left_by_one(path):
    with suppress(KeyboardInterrupt):
        prepared(INTERRUPTED, observer=Silent(leave_after=17), checkpointer=Checkpointer(path, 0.0)).run()


def exchanged():
    """What two processes have after each kind of exchange."""
    rank = ranks.rank()
    own = torch.arange(5.0)[ranks.own_rows(5)]
    many = [torch.full((size,), float(rank)) for size in (3, 2, 4)] + [
        torch.full((2, 2), 2.0 * rank, dtype=torch.float64)
    ]
    ranks.BUCKET = 20  # bytes: more than one bucket, and a tensor that is larger than one
    means = ranks.averaged(many)
    told = ranks.told({"word": "from the first"} if rank == 0 else None)
    return {
        "gathered": ranks.gathered(own, 5),
        "pixels": ranks.gathered(torch.arange(10, dtype=torch.uint8).reshape(5, 2)[ranks.own_rows(5)], 5),
        "summed": ranks.summed(torch.tensor([1.0 + rank])),
        **{f"averaged {place}": mean for place, mean in enumerate(means)},
        "told": torch.tensor(told == {"word": "from the first"}),
    }


def work(folder):
    """What each of the two processes does."""
    with ranks.group(torch.device("cpu")):
        found = {name: finished(prepared(case, together=True)) for name, case in CASES.items()}
        found["exchanged"] = exchanged()
        found["left"] = left_by_two(folder / "left.safetensors")
        left_by_one(path := folder / f"taken up {ranks.rank()}.safetensors")
        found["taken up"] = finished(prepared(INTERRUPTED, together=True, checkpointer=Checkpointer(path)))
        found |= {name: stepped(case, together=True) for name, case in HALVED.items()}
        found["unsynchronised"] = finished(prepared(Case(build("ce"), TRAIN, Small), together=True))
        for name, tensors in found.items():
            checkpoint.save(folder / f"{name}.{ranks.rank()}.safetensors", tensors, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the two have left what they found; test processes that run side by side share it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = shared / "two processes"
    with FileLock(shared / "two processes.lock"):
        if not place.exists():
            place.mkdir()
            run_two(place)
    return place


def run_two(place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    command = [sys.executable, __file__, str(place)]
    both = [
        subprocess.Popen(command, env=os.environ | meeting | {"RANK": rank}, stderr=subprocess.PIPE, text=True)
        for rank in "01"
    ]
    told = [process.communicate(timeout=240)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], "\n".join(told)


def loaded(folder, name, rank):
    return checkpoint.load(folder / f"{name}.{rank}.safetensors")[0]


def assert_same(found, expected, tolerance=1e-10):
    assert found.keys() == expected.keys()
    off = {
        name: (found[name].double() - value.double()).abs().max() for name, value in expected.items() if value.numel()
    }
    assert {name: float(value) for name, value in off.items() if not value <= tolerance} == {}


@pytest.mark.parametrize("name", CASES)
def test_two_processes_end_as_one_does(folder, name):
    expected = finished(prepared(CASES[name]))
    for rank in (0, 1):
        assert_same(loaded(folder, name, rank), expected)


@pytest.mark.parametrize("name", HALVED)
def test_a_step_in_bfloat16_is_that_of_one_process_and_gradients_are_added_in_single_precision(folder, name):
    expected = stepped(HALVED[name])
    before = prepared(HALVED[name], dtype=torch.float32).executor.lanes[0].module.state_dict()
    assert expected["halved"] == 1
    for rank in (0, 1):
        found = loaded(folder, name, rank)
        bits = found.pop("bits").tolist()
        assert bits
        assert set(bits) == {32}
        for key, value in found.items():
            # weights have moved by the gradient, which is rounded to 8 bits in parts here and as a whole there
            start = before.get(key.removeprefix("weights|"), 0)
            moved = (expected[key] - start).abs().max()
            torch.testing.assert_close(value, expected[key], rtol=0, atol=float(2**-7 * moved))


def test_pieces_of_one_process_end_as_the_whole_does():
    case = CASES["in pieces"]
    assert_same(finished(prepared(case, together=True)), finished(prepared(case)))


@pytest.mark.parametrize(("together", "kind"), [(True, Player), (False, Recorder)])
def test_on_a_gpu_divided_networks_are_called_as_they_are_and_others_are_recorded(monkeypatch, together, kind):
    (lane,) = prepared(CASES["ce"], together=together).executor.lanes
    lane.like = SimpleNamespace(device=torch.device("cuda"))
    monkeypatch.setattr(Recorder, "__init__", Player.__init__)  # which would ask for the GPU
    assert type(player_of(lane)) is kind


def test_divided_networks_are_never_compiled():
    assert prepared(CASES["ce"], together=True).executor.lanes[0].execution.eager


def test_a_signal_to_one_process_stops_both_at_the_same_step(folder):
    steps, _ = batches(63, TRAIN.batch)
    for rank in (0, 1):
        assert loaded(folder, "left", rank)["position"].tolist() == [1, 17 // steps, 17 % steps]


def test_what_two_processes_left_is_taken_up_by_one(folder):
    going_on = prepared(INTERRUPTED, checkpointer=Checkpointer(folder / "left.safetensors"))
    found, expected = finished(going_on), finished(prepared(INTERRUPTED))
    later = [result.epoch for result in going_on.observer.results]
    assert later == [3, 4, 5]
    assert_same(found, {name: value for name, value in expected.items() if name[:2] not in ("0|", "1|", "2|")})


def test_what_one_process_left_is_taken_up_by_two(folder):
    expected = finished(prepared(INTERRUPTED))
    for rank in (0, 1):
        found = loaded(folder, "taken up", rank)
        assert_same(found, {name: value for name, value in expected.items() if name in found})
        assert not any(name.startswith("2|") for name in found)
        assert any(name.startswith("3|") for name in found)


def test_without_synchronisation_running_statistics_are_the_means_over_processes(folder):
    one, two = (loaded(folder, "unsynchronised", rank) for rank in (0, 1))
    assert_same(one, two, tolerance=0.0)
    whole = finished(prepared(Case(build("ce"), TRAIN, Small)))
    name = "weights|nets.net.layers.1.running_mean"
    assert not torch.equal(one[name], whole[name])  # which saw all rows at once
    torch.testing.assert_close(one[name], whole[name], rtol=0, atol=0.5)


def test_rows_are_gathered_in_order_sums_and_means_go_over_all(folder):
    for rank in (0, 1):
        found = loaded(folder, "exchanged", rank)
        assert found["gathered"].tolist() == [0, 1, 2, 3, 4]
        assert torch.equal(found["pixels"], torch.arange(10, dtype=torch.uint8).reshape(5, 2))
        assert found["summed"].tolist() == [3]
        assert [found[f"averaged {place}"].tolist() for place in range(4)] == [
            [0.5] * 3,
            [0.5] * 2,
            [0.5] * 4,
            [[1.0, 1.0], [1.0, 1.0]],
        ]
        assert found["told"]


if __name__ == "__main__":
    work(Path(sys.argv[1]))
