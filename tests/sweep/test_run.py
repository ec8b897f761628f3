from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch

from labelnoise.config import Data, Named, Optimiser, RunConfig, Train
from labelnoise.data.dataset import load
from labelnoise.engine import checkpoint
from labelnoise.engine import execution as executing
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import Interrupt, InterruptError
from labelnoise.engine.lane import Lane
from labelnoise.errors import InputError
from labelnoise.methods import METHODS, hyper
from labelnoise.methods.ce import CE
from labelnoise.metrics.separator import separator
from labelnoise.results.model import Model
from labelnoise.results.select import NoisyValidation
from labelnoise.results.store import Store
from labelnoise.sweep import run as module
from labelnoise.sweep.plan import plan_packs
from labelnoise.sweep.run import Display, Workplace, find_device, prepare, run_pack, specify
from labelnoise.types import Terms

SMALL = Named("mlp", {"widths": "8"})
BASE = RunConfig(data=Data("gaussians"), noise="symmetric:0.3", net=SMALL, train=Train(epochs=2, batch=512))


@dataclass(frozen=True)
class Fused(CE):
    """Cross-entropy that turns NaN once its fuse has burnt down."""

    fuse: float = hyper(2.0, low=0.0, high=3.0)

    def objective(self, nets, batch, ctx):
        return Terms(super().objective(nets, batch, ctx).loss * torch.where(ctx.progress >= self.fuse, torch.nan, 1.0))


class Heard(Display):
    """A display that remembers, and may die at a step."""

    def __init__(self, die_at=None):
        self.ticks, self.notes, self.went_on, self.ended, self.die_at = [], [], None, None, die_at

    def begin(self, name, runs, epochs, done):
        self.went_on = done

    def tick(self, *at):
        self.ticks.append(at)
        if at[:2] == self.die_at:
            raise KeyboardInterrupt

    def end(self, epochs):
        self.ended = epochs

    def say(self, sentence):
        self.notes.append(sentence)

    warn = say


def run(store, configs, executor=None, die_at=None, interrupt=None):
    """Run the configs as one pack; its journal, and what was heard."""
    (pack,) = plan_packs(configs)
    heard = Heard(die_at)
    build = partial(load, "gaussians")
    run_pack(pack, Workplace(store, build, torch.device("cpu"), Execution(executor), heard, interrupt or Interrupt()))
    return store.journal(pack.name), heard


def left(store, configs, monkeypatch, *, at, call=1, executor=None):
    """Run them until a signal comes at this call of something."""
    interrupt, called, calls = Interrupt(), getattr(*at), []

    def asked(*given):
        calls.append(1)
        if len(calls) == call:
            interrupt.number = 15
        return called(*given)

    with monkeypatch.context() as patch:
        patch.setattr(*at, asked)
        with pytest.raises(InterruptError):
            run(store, configs, executor, interrupt=interrupt)


def prepared(config):
    return prepare(config, partial(load, "gaussians"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_the_learnt_parts_are_noisy_and_the_test_part_is_clean():
    task = prepared(BASE)
    wrong = task.dataset.y_given != task.dataset.y_true
    shares = [wrong[rows].double().mean().item() for rows in task.splits]
    assert shares[:2] == pytest.approx([0.3, 0.3], abs=0.12)
    assert shares[2] == 0


def test_the_three_parts_are_seventy_ten_and_twenty_per_cent():
    assert [len(rows) for rows in prepared(BASE).splits] == [1400, 200, 400]


def test_the_specification_is_that_of_the_data_and_its_net():
    spec = specify(BASE, prepared(BASE))
    assert (spec.shape, spec.classes, spec.samples) == ((2,), 2, 1400)
    assert spec.net(5)(torch.zeros(3, 2)).shape == (3, 5)


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "meta", "", "cuda:-1"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match="is not available here; use auto, cpu, cuda or cuda:N"):
        find_device(name)


def test_packs_that_follow_each_other_share_a_compiler_unless_data_network_or_training_differ():
    config = replace(BASE, seed=3)
    others = [replace(config, net=Named("mlp", {"widths": "9"})), replace(config, train=replace(config.train, batch=7))]
    key = [module._shared(each) for each in (config, replace(config, seed=4, noise="none"), *others)]
    assert key[0] == key[1]
    assert len(set(key)) == 3
    first = module._compiler("streams", Execution(), key[0])
    assert module._compiler("streams", Execution(), key[1]) is first
    assert module._compiler("packed", Execution(), key[0]) is not first


def test_auto_is_a_device_that_is_there():
    assert find_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert find_device("cpu") == torch.device("cpu")


def test_every_run_and_epoch_has_a_record_with_its_identity(store):
    configs = [replace(BASE, seed=seed) for seed in (4, 2)]
    journal, _ = run(store, configs)
    found = [(record.run, record.method, record.seed, record.epoch) for record in journal.read()]
    assert found == [(c.identity, "ce", c.seed, epoch) for epoch in (0, 1) for c in configs]


def test_closing_facts_hold_configs_realised_rates_and_versions(store):
    configs = [replace(BASE, seed=seed) for seed in (4, 2, 7)]
    journal, _ = run(store, configs)
    facts = journal.facts
    for fact, config in zip(facts["runs"], configs, strict=True):
        task = prepared(config)
        rows = task.splits.train.tolist()
        wrong = sum(int(task.dataset.y_given[i] != task.dataset.y_true[i]) for i in rows)
        assert fact["run"] == config.identity
        assert fact["noise_rate"] == pytest.approx(wrong / len(rows), abs=1e-12)
        assert fact["config"]["noise"] == "symmetric:0.3"
    assert facts["versions"]["torch"] == torch.__version__
    assert (facts["executor"], facts["device"]) == ("packed", "cpu")


def test_the_executor_can_be_forced_and_does_not_change_the_results(tmp_path):
    configs = [replace(BASE, seed=seed) for seed in (0, 1)]
    journals = [run(Store(tmp_path / name), configs, name)[0] for name in ("streams", "packed")]
    assert [journal.facts["executor"] for journal in journals] == ["streams", "packed"]
    for one, two in zip(*(journal.read() for journal in journals), strict=True):
        assert one.measures == pytest.approx(two.measures, abs=1e-4)  # float32


def test_the_commit_that_is_noted_is_that_of_the_moment_before_the_first_step(store, monkeypatch):
    tree = {"commit": "before"}
    monkeypatch.setattr(module, "commit", lambda: tree["commit"])
    monkeypatch.setattr(Heard, "tick", lambda *_: tree.update(commit="after"))
    journal, _ = run(store, [BASE])
    assert (journal.facts["commit"], tree["commit"]) == ("before", "after")


def test_what_was_left_within_a_step_goes_on_by_the_executor_that_left_it(store, tmp_path, monkeypatch):
    configs = [replace(BASE, seed=seed) for seed in range(3)]
    monkeypatch.setattr(module, "choose", lambda *_: "streams")
    whole, _ = run(Store(tmp_path / "whole"), configs)
    left(store, configs, monkeypatch, at=(Lane, "step"), call=8)  # the second run of the third step
    monkeypatch.setattr(module, "choose", lambda *_: "packed")
    journal, heard = run(store, configs)
    assert heard.ticks == [(0, 2, 3), *((1, step, 3) for step in range(3))]
    assert journal.facts["executor"] == "streams"
    assert journal.records.read_bytes() == whole.records.read_bytes()


@pytest.mark.parametrize("named", [{}, {"executor": "of a later version"}])
def test_where_a_checkpoint_names_no_known_executor_it_is_chosen(store, monkeypatch, named):
    configs = [replace(BASE, seed=seed) for seed in range(2)]
    left(store, configs, monkeypatch, at=(Heard, "tick"), call=2, executor="streams")
    (path,) = store.folder.glob("*/checkpoint.safetensors")
    tensors, facts = checkpoint.load(path)
    del facts["executor"]  # as before they were noted
    checkpoint.save(path, tensors, facts | named)
    monkeypatch.setattr(module, "choose", lambda *_: "packed")
    journal, heard = run(store, configs)
    assert len(heard.ticks) == 4
    assert journal.facts["executor"] == "packed"


def test_an_executor_that_is_forced_goes_before_the_one_that_left(store, monkeypatch):
    configs = [replace(BASE, seed=seed) for seed in range(2)]
    left(store, configs, monkeypatch, at=(Heard, "tick"), call=2, executor="streams")
    journal, heard = run(store, configs, "packed")
    assert len(heard.ticks) == 4
    assert journal.facts["executor"] == "packed"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("net", ["lenet5_same", "resnet32"])
def test_in_deterministic_mode_the_same_seeds_have_the_same_records_twice_on_a_gpu(
    tmp_path, monkeypatch, net, compiled
):
    monkeypatch.setattr(executing, "WORTH_COMPILING", 1 if compiled else 10**9)
    config = RunConfig(data=Data("digits"), net=Named(net), train=Train(epochs=2, batch=256))
    (pack,) = plan_packs([replace(config, seed=seed) for seed in range(2)])
    found = []
    for name in ("first", "second"):
        store, build = Store(tmp_path / name), partial(load, "digits")
        how = Execution(deterministic=True)
        run_pack(pack, Workplace(store, build, find_device("cuda"), how, Display(), Interrupt()))
        found.append(store.journal(pack.name).read())
    assert found[0] == found[1]


def test_every_step_ticks(store):
    _, heard = run(store, [BASE])
    assert heard.ticks == [(epoch, step, 3) for epoch in (0, 1) for step in range(3)]
    assert (heard.notes, heard.went_on, heard.ended) == ([], 0, 2)


def test_a_batch_larger_than_the_data_shrinks(store):
    _, heard = run(store, [replace(BASE, train=Train(epochs=1, batch=5000))])
    assert heard.ticks == [(0, 0, 1)]


def test_a_run_that_turns_nan_is_noted_with_epoch_and_step_and_its_neighbour_goes_on(store, monkeypatch):
    monkeypatch.setitem(METHODS._things, "fused", Fused)
    named = [Named("fused", {"fuse": fuse}) for fuse in (0.8, 2.0)]
    configs = [replace(BASE, method=method, seed=seed) for seed, method in enumerate(named, start=5)]
    journal, heard = run(store, configs)
    sentence = "fused, seed 5: the loss was not finite in epoch 2, step 3; this run is stopped"
    assert heard.notes == [sentence]  # (1 + 2/3) / 2
    assert [(record.seed, record.epoch) for record in journal.read()] == [(5, 0), (6, 0), (6, 1)]
    assert [run.failed for run in journal.runs()] == [(1, 2), None]


def test_a_pack_whose_runs_all_fail_is_finished_without_later_records_and_has_no_model(store):
    journal, heard = run(store, [replace(BASE, train=Train(epochs=2, batch=512, optimiser=Optimiser(lr=1e30)))])
    assert len(heard.notes) == 1
    assert journal.finished
    assert journal.read() == []
    assert not journal.model.exists()
    assert heard.ended == 0


def test_what_a_killed_process_left_is_taken_up_where_its_checkpoint_stands(store, tmp_path, monkeypatch):
    whole, _ = run(Store(tmp_path / "whole"), [BASE])
    monkeypatch.setattr(module, "Checkpointer", partial(Checkpointer, every_seconds=0.0))
    with pytest.raises(KeyboardInterrupt):
        run(store, [BASE], die_at=(1, 1))
    journal, heard = run(store, [BASE])
    assert heard.ticks == [(1, 2, 3)]
    assert heard.went_on == 1
    assert journal.records.read_bytes() == whole.records.read_bytes()
    for name in ("details", "model"):
        assert getattr(journal, name).read_bytes() == getattr(whole, name).read_bytes()


MOVING = Train(epochs=5, batch=64, optimiser=Optimiser(name="sgd", lr=1.5))  # its best epoch is seldom the last


@pytest.mark.parametrize("executor", ["streams", "packed"])
@pytest.mark.parametrize("moment", ["on_test_part", "details", "counted_margins"])
def test_left_while_it_is_closed_it_is_closed_later_without_a_step_and_as_if_nothing_had_been(
    store, tmp_path, monkeypatch, executor, moment
):
    configs = [replace(BASE, noise="symmetric:0.4", seed=seed, train=MOVING) for seed in range(4)]
    whole, _ = run(Store(tmp_path / "whole"), configs, executor)
    left(store, configs, monkeypatch, at=(module, moment), executor=executor)
    journal, heard = run(store, configs, executor)
    assert heard.ticks == []
    assert heard.went_on == heard.ended == 5
    for name in ("records", "details", "model"):
        assert getattr(journal, name).read_bytes() == getattr(whole, name).read_bytes()


def test_the_model_has_the_healthy_runs_at_their_best_epochs(store, monkeypatch):
    monkeypatch.setitem(METHODS._things, "fused", Fused)
    train = Train(epochs=4, batch=512)
    configs = [replace(BASE, method=Named("fused", {"fuse": 2.0}), seed=seed, train=train) for seed in range(3)]
    journal, _ = run(store, configs)
    model = Model.load(journal.model)
    for seed, member in enumerate(model.members):
        scores = [record.measures["validation/score"] for record in journal.read() if record.seed == seed]
        assert (member.config.seed, member.score) == (seed, max(scores))


def test_the_model_of_a_search_has_the_best_settings_alone(store):
    named = [Named("gce", {"q": q}) for q in (0.1, 0.5, 1.0)]
    configs = [replace(BASE, method=method, train=Train(epochs=3, batch=64)) for method in named]
    journal, _ = run(store, configs)
    best = max(journal.read(), key=lambda record: record.measures["validation/score"])
    (member,) = Model.load(journal.model).members
    assert member.score == best.measures["validation/score"]


@pytest.mark.parametrize(("method", "alpha", "room"), [("ce", 0, 0.12), ("label_smoothing", 0.1, 0.03)])
def test_a_linear_network_ends_with_the_line_of_the_whole_population(store, method, alpha, room):
    settings = {"alpha": alpha} if alpha else {}
    train = Train(epochs=100, batch=2000, optimiser=Optimiser(lr=0.1))
    linear, noise = Named("mlp", {"widths": "none"}), "asymmetric:0.05:exact"
    journal, _ = run(store, [replace(BASE, noise=noise, method=Named(method, settings), net=linear, train=train)])
    a, b, c = journal.runs()[0].details["line"].tolist()
    assert -c * 2**0.5 / (a + b) == pytest.approx(separator(alpha).crossing, abs=room)


def test_details_have_features_where_there_are_three_classes(store):
    config = replace(BASE, data=Data("digits"), train=Train(epochs=1, batch=512))
    (pack,) = plan_packs([config])
    run_pack(pack, Workplace(store, partial(load, "digits"), torch.device("cpu"), Execution(), Heard(), Interrupt()))
    (found,) = store.journal(pack.name).runs()
    assert found.details["projection_points"].shape == (300, 2)


def test_details_agree_with_the_record_of_the_selected_epoch(store):
    journal, _ = run(store, [replace(BASE, seed=seed, train=Train(epochs=4, batch=512)) for seed in range(2)])
    for each in journal.runs():
        chosen = NoisyValidation().pick(each.records)
        confusion = each.details["test_confusion"].double()
        assert (confusion.trace() / confusion.sum()).item() == pytest.approx(chosen.measures["test/accuracy_true"])


def test_the_test_part_and_pictures_are_taken_at_the_selected_and_after_the_last_epoch(store):
    journal, _ = run(store, [replace(BASE, noise="symmetric:0.4", seed=seed, train=MOVING) for seed in range(4)])
    differ = False
    for each in journal.runs():
        selected, last = NoisyValidation().pick(each.records), each.records[-1]
        for prefix, record in (("", selected), ("last_", last)):
            of_label = each.details[f"{prefix}margin_counts"][0, 1].double()  # of two classes, met above 0
            assert of_label[30:].sum() / of_label.sum() == pytest.approx(record.measures["train/accuracy_given"])
            confusion = each.details[f"{prefix}test_confusion"].double()
            assert confusion.trace() / confusion.sum() == pytest.approx(record.measures["test/accuracy_true"])
        differ |= selected.measures["train/accuracy_given"] != last.measures["train/accuracy_given"]
    assert differ
