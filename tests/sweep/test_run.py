from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch

from labelnoise.config import Named, Optimiser, RunConfig, Train
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.errors import InputError
from labelnoise.methods import METHODS, hyper
from labelnoise.methods.ce import CE
from labelnoise.results.store import Journal
from labelnoise.sweep import run as module
from labelnoise.sweep.plan import plan_packs
from labelnoise.sweep.run import find_device, prepare, run_pack, specify
from labelnoise.types import Terms

SMALL = Named("mlp", {"widths": "8"})
BASE = RunConfig(data="gaussians", noise="symmetric:0.3", net=SMALL, train=Train(epochs=2, batch=512))


@dataclass(frozen=True)
class Fused(CE):
    """Cross-entropy that turns NaN once its fuse has burnt down."""

    fuse: float = hyper(2.0, low=0.0, high=3.0)

    def objective(self, nets, batch, ctx):
        return Terms(super().objective(nets, batch, ctx).loss * torch.where(ctx.progress >= self.fuse, torch.nan, 1.0))


def run(journal, configs, executor=None):
    """Run the configs as one pack; what was ticked and what was noted."""
    ticks, notes = [], []
    (pack,) = plan_packs(configs)
    device = torch.device("cpu")
    run_pack(pack, journal, device=device, executor=executor, tick=lambda *at: ticks.append(at), note=notes.append)
    return ticks, notes


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "pack")


def test_the_learnt_parts_are_noisy_and_the_test_part_is_clean():
    task = prepare(BASE)
    wrong = task.dataset.y_given != task.dataset.y_true
    shares = [wrong[rows].double().mean().item() for rows in task.splits]
    assert shares[:2] == pytest.approx([0.3, 0.3], abs=0.12)
    assert shares[2] == 0


def test_the_three_parts_are_seventy_ten_and_twenty_per_cent():
    assert [len(rows) for rows in prepare(BASE).splits] == [1400, 200, 400]


def test_the_specification_is_that_of_the_data_and_its_net():
    spec = specify(BASE, prepare(BASE))
    assert (spec.shape, spec.classes, spec.samples) == ((2,), 2, 1400)
    assert spec.net(5)(torch.zeros(3, 2)).shape == (3, 5)


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "meta", "", "cuda:-1"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match="is not available here; use auto, cpu, cuda or cuda:N"):
        find_device(name)


def test_auto_is_a_device_that_is_there():
    assert find_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert find_device("cpu") == torch.device("cpu")


def test_every_run_and_epoch_has_a_record_with_its_identity(journal):
    configs = [replace(BASE, seed=seed) for seed in (4, 2)]
    run(journal, configs)
    found = [(record.run, record.method, record.seed, record.epoch) for record in journal.read()]
    assert found == [(c.identity, "ce", c.seed, epoch) for epoch in (0, 1) for c in configs]


def test_closing_facts_hold_configs_realised_rates_and_versions(journal):
    configs = [replace(BASE, seed=seed) for seed in (4, 2)]
    run(journal, configs)
    facts = journal.facts
    for fact, config in zip(facts["runs"], configs, strict=True):
        task = prepare(config)
        rows = task.splits.train.tolist()
        wrong = sum(int(task.dataset.y_given[i] != task.dataset.y_true[i]) for i in rows)
        assert fact["run"] == config.identity
        assert fact["noise_rate"] == pytest.approx(wrong / len(rows), abs=1e-12)
        assert fact["config"]["noise"] == "symmetric:0.3"
    assert facts["versions"]["torch"] == torch.__version__
    assert (facts["executor"], facts["device"]) == ("packed", "cpu")


def test_the_executor_can_be_forced_and_does_not_change_the_results(journal, tmp_path):
    configs, other = [replace(BASE, seed=seed) for seed in (0, 1)], Journal(tmp_path / "other")
    run(journal, configs, "streams")
    run(other, configs, "packed")
    assert [journal.facts["executor"], other.facts["executor"]] == ["streams", "packed"]
    for one, two in zip(journal.read(), other.read(), strict=True):
        assert one.measures == pytest.approx(two.measures, abs=1e-4)  # float32


def test_every_step_ticks(journal):
    ticks, notes = run(journal, [BASE])
    assert ticks == [(epoch, step, 3) for epoch in (0, 1) for step in range(3)]
    assert notes == []


def test_a_batch_larger_than_the_data_shrinks_with_a_note(journal):
    ticks, notes = run(journal, [replace(BASE, train=Train(epochs=1, batch=5000))])
    assert notes == ["batches of 5000 shrink to the 1400 training samples there are"]
    assert ticks == [(0, 0, 1)]


def test_a_run_that_turns_nan_is_noted_with_epoch_and_step_and_its_neighbour_goes_on(journal, monkeypatch):
    monkeypatch.setitem(METHODS._things, "fused", Fused)
    named = [Named("fused", {"fuse": fuse}) for fuse in (0.8, 2.0)]
    configs = [replace(BASE, method=method, seed=seed) for seed, method in enumerate(named, start=5)]
    _, notes = run(journal, configs)
    assert notes == ["fused, seed 5: the loss was not finite in epoch 2, step 3; this run is stopped"]  # (1 + 2/3) / 2
    assert [(record.seed, record.epoch) for record in journal.read()] == [(5, 0), (6, 0), (6, 1)]


def test_a_pack_whose_runs_all_fail_is_finished_without_later_records(journal):
    _, notes = run(journal, [replace(BASE, train=Train(epochs=2, batch=512, optimiser=Optimiser(lr=1e30)))])
    assert len(notes) == 1
    assert journal.finished
    assert journal.read() == []


def test_what_a_killed_process_left_is_taken_up_where_its_checkpoint_stands(journal, tmp_path, monkeypatch):
    whole = Journal(tmp_path / "whole")
    run(whole, [BASE])

    def die(epoch, step, steps):
        if (epoch, step) == (1, 1):
            raise KeyboardInterrupt

    (pack,) = plan_packs([BASE])
    settings = {"device": torch.device("cpu"), "executor": None, "note": print}
    monkeypatch.setattr(module, "Checkpointer", partial(Checkpointer, every_seconds=0.0))
    with pytest.raises(KeyboardInterrupt):
        run_pack(pack, journal, tick=die, **settings)
    ticks = []
    run_pack(pack, journal, tick=lambda *at: ticks.append(at), **settings)
    assert ticks == [(1, 2, 3)]
    assert journal.records.read_bytes() == whole.records.read_bytes()
