from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from labelnoise.config import Data, Named, RunConfig, Train
from labelnoise.data.dataset import load
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt
from labelnoise.engine.memory import needed
from labelnoise.sweep import room as module
from labelnoise.sweep.plan import plan_packs
from labelnoise.sweep.room import memory, most_runs, need
from labelnoise.sweep.run import Display, Workplace, prepare, specify

BASE = RunConfig(data=Data("digits"), noise="symmetric:0.3", train=Train(epochs=1, batch=128))
BUILD = partial(load, "digits")


def place(device="cpu", executor=None, share=1.0):
    return Workplace(None, BUILD, torch.device(device), Execution(executor), Display(), Interrupt(), share=share)


def pack_of(runs, **changes):
    (pack,) = plan_packs([replace(BASE, seed=seed, **changes) for seed in range(runs)])
    return pack


def test_the_memory_of_this_machine_is_what_its_system_says():
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal:"))
    installed = int(line.split()[1]) * 1024
    assert memory(torch.device("cpu")) <= installed
    assert module.LIMIT.exists() or memory(torch.device("cpu")) == installed


@pytest.mark.parametrize(("limit", "found"), [("123456789\n", 123456789), ("max\n", None)])
def test_a_container_has_no_more_than_its_limit(limit, found, tmp_path, monkeypatch):
    whole = memory(torch.device("cpu"))
    monkeypatch.setattr(module, "LIMIT", tmp_path / "memory.max")
    module.LIMIT.write_text(limit)
    assert memory(torch.device("cpu")) == (found or whole)


def test_what_a_run_needs_is_that_of_its_method_network_and_batch():
    config = replace(BASE, method=Named("co_teaching"))
    spec = specify(config, prepare(config, BUILD))
    (pack,) = plan_packs([config])
    assert need(pack, place()) == needed(pack.methods[0], spec, config.train, 256)
    assert need(pack, place("cuda")) == needed(pack.methods[0], spec, config.train, 1024)


@pytest.mark.parametrize(("share", "fit"), [(1.0, 3), (0.5, 1)])
def test_runs_fill_four_fifths_of_the_memory_that_inputs_leave(share, fit, monkeypatch):
    pack, at = pack_of(9), place(share=share)
    inputs = 4 * 1797 * 64
    monkeypatch.setattr(module, "memory", lambda device: round((3.9 * need(pack, at).total + inputs) / 0.8))
    assert most_runs(pack, at) == fit


@pytest.mark.parametrize(
    ("device", "net", "most"),
    [("cuda", "mlp", 64), ("cuda", "resnet32", 16), ("cpu", "mlp", 70), ("cpu", "resnet32", 70)],
)
@pytest.mark.parametrize("executor", [None, "streams", "packed"])
def test_on_a_gpu_there_are_no_more_side_by_side_than_pays_whatever_is_asked_for(
    device, net, most, executor, monkeypatch
):
    monkeypatch.setattr(module, "memory", lambda device: 2**60)
    assert most_runs(pack_of(70, net=Named(net)), place(device, executor)) == most


def test_of_a_single_run_nothing_is_measured():
    assert most_runs(pack_of(1), None) == 1


def test_runs_too_large_to_be_measured_are_tried_one_by_one(monkeypatch):
    def short(*_):
        raise MemoryError

    monkeypatch.setattr(module, "needed", short)
    assert most_runs(pack_of(4), place()) == 1
