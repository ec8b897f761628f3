import gc
import os
import re
import subprocess
import sys
import weakref
from dataclasses import replace
from functools import partial

import pytest
import torch

from labelnoise.config import Data, Named, RunConfig, Train
from labelnoise.data.dataset import load
from labelnoise.engine import checkpoint
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt
from labelnoise.files import FullDiskError
from labelnoise.results.store import Store
from labelnoise.sweep import halving as module
from labelnoise.sweep import run as running
from labelnoise.sweep.compare import train_all
from labelnoise.sweep.halving import train_or_halve
from labelnoise.sweep.plan import cut, plan_packs
from labelnoise.sweep.run import Display, Workplace, run_pack

BASE = RunConfig(
    data=Data("gaussians"),
    noise="symmetric:0.3",
    net=Named("mlp", {"widths": "8"}),
    train=Train(epochs=2, batch=512),
)
(PACK,) = plan_packs([replace(BASE, seed=seed) for seed in range(5)])

# A process that may have little more memory than it has once torch is loaded.
SHORT = """
import re, resource, sys
from dataclasses import replace
from functools import partial
from pathlib import Path
import torch
from labelnoise.config import Data, Named, RunConfig, Train
from labelnoise.data.dataset import load
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt
from labelnoise.results.store import Store
from labelnoise.sweep.halving import train_or_halve
from labelnoise.sweep.plan import plan_packs
from labelnoise.sweep.run import Display, Workplace

class Told(Display):
    def warn(self, sentence):
        print(sentence)

def train(name, runs, width):
    base = RunConfig(data=Data("digits"), net=Named("mlp", {"widths": width}), train=Train(epochs=1, batch=1500))
    (pack,) = plan_packs([replace(base, seed=seed) for seed in range(runs)])
    build, cpu = partial(load, "digits"), torch.device("cpu")
    train_or_halve(pack, Workplace(Store(Path(name)), build, cpu, Execution("streams"), Told(), Interrupt()))

torch.set_num_threads(1)
train("before", 2, "8")  # loads what is loaded late
now = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[1]) * 2**20,) * 2)
train("short", 4, "2000,1000")
"""


class Heard(Display):
    """A display that remembers."""

    def __init__(self):
        self.said, self.began, self.given_up, self.ticks = [], [], [], []

    def begin(self, name, runs, epochs, done):
        self.began.append((runs, done))

    def tick(self, epoch, step, steps):
        self.ticks.append((self.began[-1][0], epoch, step))

    def give_up(self, instead):
        self.given_up.append(instead)

    def say(self, sentence):
        self.said.append(sentence)

    warn = say


def place(store, heard, executor="packed"):
    return Workplace(store, partial(load, "gaussians"), torch.device("cpu"), Execution(executor), heard, Interrupt())


def train(store, pack=PACK, executor="packed"):
    heard = Heard()
    with store.tidied():
        train_or_halve(pack, place(store, heard, executor))
    return heard


def give_up(store, pack):
    store.journal(pack.name).halve([config.identity for config in pack.configs])


def histories(store):
    return {run.config["seed"]: run.records for run in store.runs().values()}


def assert_same(store, whole):
    found, expected = histories(store), histories(whole)
    assert found.keys() == expected.keys()
    for seed, records in found.items():
        for one, other in zip(records, expected[seed], strict=True):
            assert one.measures == pytest.approx(other.measures, abs=1e-4)  # float32


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def fitting(monkeypatch):
    """Sets how many runs fit; each call of what trains a pack is noted."""
    tried = []

    def limited(most, problem=torch.cuda.OutOfMemoryError):
        def short(pack, at):
            seeds = [config.seed for config in pack.configs]
            tried.append(seeds)
            if len(seeds) > most(seeds):
                raise problem("no memory")
            run_pack(pack, at)

        monkeypatch.setattr(module, "run_pack", short)
        return tried

    return limited


def test_a_pack_is_halved_until_its_parts_fit_and_all_runs_are_as_they_would_have_been(store, fitting, tmp_path):
    train(Store(tmp_path / "whole"))
    tried = fitting(lambda seeds: 2)
    heard = train(store)
    assert tried == [[0, 1, 2, 3, 4], [0, 1, 2], [0, 1], [2], [3, 4]]
    assert heard.said == [
        "ce × 5 did not fit in memory: halved to 3 and 2 runs",
        "ce × 3 did not fit in memory: halved to 2 and 1 runs",
    ]
    assert heard.given_up == [2, 2]
    assert_same(store, Store(tmp_path / "whole"))
    assert len(list(store.folder.iterdir())) == 3  # nothing of what was given up


@pytest.fixture
def late(monkeypatch):
    """From its call on each step is saved, and memory is short once more than two runs reach the second epoch."""
    tick = Heard.tick

    def short(heard, epoch, step, steps):
        tick(heard, epoch, step, steps)
        if heard.began[-1][0] > 2 and epoch == 1:
            raise torch.cuda.OutOfMemoryError("no memory")

    def begin():
        monkeypatch.setattr(Heard, "tick", short)
        monkeypatch.setattr(running, "Checkpointer", partial(Checkpointer, every_seconds=0.0))

    return begin


@pytest.mark.parametrize("executor", ["streams", "packed"])
def test_halves_go_on_where_the_pack_was_saved_and_end_as_if_nothing_had_been(store, tmp_path, late, executor):
    train(whole := Store(tmp_path / "whole"), executor=executor)
    late()
    heard = train(store, executor=executor)
    of_pack = [(5, epoch, step) for epoch, step in ((0, 0), (0, 1), (0, 2), (1, 0))]
    of_halves = [(3, 1, 1), (2, 1, 2), (1, 1, 2), (2, 1, 1), (2, 1, 2)]  # the first in halves again
    assert heard.ticks == of_pack + of_halves
    assert_same(store, whole)
    assert len(list(store.folder.iterdir())) == 3


def test_halves_begin_anew_where_memory_is_too_short_to_hand_them_what_was_saved(store, tmp_path, monkeypatch, late):
    def short(*_):
        raise MemoryError

    train(whole := Store(tmp_path / "whole"))
    late()
    monkeypatch.setattr(checkpoint, "of_runs", short)
    assert train(store).began == [(5, 0), (3, 0), (2, 0), (1, 0), (2, 0)]
    assert_same(store, whole)


def test_on_a_full_disk_what_the_pack_has_saved_is_not_thrown_away(store, monkeypatch, late):
    late()
    saved, save = [], checkpoint.save

    def full(path, tensors, facts):
        saved.append(path)
        if path != saved[0]:  # of a half
            raise FullDiskError("the disk is full")
        save(path, tensors, facts)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", full)
        with pytest.raises(FullDiskError):
            train(store)
    heard = train(store)  # once there is room: in halves, where the pack was saved
    assert heard.said == ["ce × 3 did not fit in memory: halved to 2 and 1 runs"]
    assert heard.began == [(3, 1), (2, 1), (1, 1), (2, 1)]


def test_a_half_that_another_command_has_finished_is_left_as_it_is(store, monkeypatch, late):
    def broken_off(*_):
        raise KeyboardInterrupt

    late()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_share_out", broken_off)
        with pytest.raises(KeyboardInterrupt):
            train(store)
    first, second = cut(PACK, 3)
    run_pack(first, place(store, Display()))
    records = store.journal(first.name).records
    before = records.read_bytes()
    heard = train(store)
    assert heard.began == [(2, 1)]  # the second one, where the pack was saved
    assert records.read_bytes() == before
    assert sorted(histories(store)) == [*range(5)]
    assert store.journal(second.name).finished


def test_what_several_shortages_have_left_is_removed_by_the_command_that_is_typed_again(store):
    (eight,) = plan_packs([replace(BASE, seed=seed) for seed in range(8)])
    quarters = cut(eight, 2)
    for quarter in quarters:
        run_pack(quarter, place(store, Heard()))
    for halved in (eight, *cut(eight, 4)):  # as a process that was killed after the last training leaves it
        give_up(store, halved)
    train_all(eight.configs, place(store, Heard()))
    assert {path.name for path in store.folder.glob("*")} == {quarter.name for quarter in quarters}
    assert not [*store.folder.glob("*/halved")]


def test_a_run_that_does_not_fit_alone_is_named_and_the_others_go_on(store, fitting):
    tried = fitting(lambda seeds: 0 if 3 in seeds else 5, MemoryError)
    heard = train(store)
    assert tried == [[0, 1, 2, 3, 4], [0, 1, 2], [3, 4], [3], [4]]
    assert set(histories(store)) == {0, 1, 2, 4}
    pattern = (
        r"ce, seed 3: it does not fit in memory, for it needs about \d+\.\d MiB for itself, and the CPU has "
        r"\d+\.\d GiB for all; this run is missing: use a smaller train\.batch, or another --device"
    )
    assert re.fullmatch(pattern, heard.said[-1])
    assert heard.given_up == [2, 2, 0]


def test_other_troubles_are_not_taken_for_a_lack_of_memory(store, fitting):
    fitting(lambda seeds: 0, RuntimeError)
    with pytest.raises(RuntimeError, match="no memory"):
        train(store)


def test_killed_among_the_halves_it_goes_on_with_the_half_that_was_begun(store, fitting, monkeypatch):
    fitting(lambda seeds: 3)
    short = module.run_pack

    def dying(pack, at):
        if pack.configs[0].seed == 3:
            at = replace(at, build=None)  # nothing is trained of it
        short(pack, at)

    monkeypatch.setattr(module, "run_pack", dying)
    with pytest.raises(TypeError):
        train(store)
    tried = fitting(lambda seeds: 5)
    tried.clear()
    heard = train(store)
    assert tried == [[3, 4]]
    assert heard.said == []
    assert set(histories(store)) == set(range(5))
    assert {path.name for path in store.folder.iterdir()} == {half.name for half in cut(PACK, 3)}


def test_killed_among_quarters_it_goes_on_with_the_quarter_that_was_begun(store, fitting):
    (eight,) = plan_packs(configs := [replace(BASE, seed=seed) for seed in range(8)])
    tried = fitting(lambda seeds: 2)

    def planned():
        return [len(pack.configs) for pack in plan_packs(configs, store.runs(), halved=store.halved())]

    for half in (eight, *cut(eight, 4)[:1]):  # as two shortages would have left it
        give_up(store, half)
    train(store, cut(eight, 2)[0])
    assert planned() == [8]
    tried.clear()
    train(store, eight)
    assert tried == [[2, 3], [4, 5, 6, 7], [4, 5], [6, 7]]
    assert planned() == []
    assert sorted(histories(store)) == list(range(8))


def test_what_a_failed_pack_held_is_free_before_its_half_begins(store, monkeypatch):
    class Large:
        pass

    held, alive = [], []

    def short(pack, at):
        alive.append([each() is not None for each in held])
        large = Large()
        large.itself = large  # only a collection of garbage finds it
        held.append(weakref.ref(large))
        if len(pack.configs) > 2:
            raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(module, "run_pack", short)
    gc.disable()
    try:
        train(store, cut(PACK, 4)[0])
    finally:
        gc.enable()
    assert alive[:2] == [[], [False]]


def test_a_pack_that_is_finished_before_memory_is_short_is_not_trained_again(store, monkeypatch):
    def short(pack, at):
        run_pack(pack, at)
        raise MemoryError

    monkeypatch.setattr(module, "run_pack", short)
    assert train(store).said == []
    assert set(histories(store)) == set(range(5))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are kept by Linux alone")
def test_where_memory_really_is_short_every_run_is_trained_in_the_end(tmp_path):
    command = [sys.executable, "-c", SHORT, "350"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ce × 4 did not fit in memory: halved to 2 and 2 runs\n"
    assert len(Store(tmp_path / "short").runs()) == 4
