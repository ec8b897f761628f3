from dataclasses import replace
from pathlib import Path

import pytest
import torch

from labelnoise.config import Named, Optimiser, RunConfig, Train
from labelnoise.errors import InputError
from labelnoise.sweep import compare as module
from labelnoise.sweep.compare import compare_methods
from labelnoise.sweep.run import prepare

BASE = RunConfig(
    data="gaussians", noise="symmetric:0.3", net=Named("mlp", {"widths": "8"}), train=Train(epochs=2, batch=512)
)


class Heard:
    """A display that remembers."""

    def __init__(self):
        self.began, self.said, self.ended, self.ticks = [], [], 0, 0

    def begin(self, name, runs, epochs):
        self.began.append((name, runs, epochs))

    def tick(self, epoch, step, steps):
        self.ticks += 1

    def end(self):
        self.ended += 1

    def say(self, sentence):
        self.said.append(sentence)


def compare(base, methods, out, seeds=2):
    heard = Heard()
    device = torch.device("cpu")
    return compare_methods(base, methods, seeds, out=out, device=device, executor=None, display=heard), heard


def test_every_method_is_trained_with_every_seed(tmp_path):
    outcome, heard = compare(BASE, ["ce", "gce"], tmp_path)
    assert [(r.method, r.seed, r.epoch) for r in outcome.records] == [
        (method, seed, epoch) for method in ("ce", "gce") for epoch in (0, 1) for seed in (0, 1)
    ]
    assert heard.began == [("ce", 2, 2), ("gce", 2, 2)]
    assert (heard.ended, heard.ticks, heard.said) == (2, 2 * 2 * 3, [])


def test_the_outcome_has_the_realised_rate_of_every_run(tmp_path):
    outcome, _ = compare(BASE, ["ce", "gce"], tmp_path)
    tasks = [prepare(replace(BASE, seed=seed)) for seed in (0, 1)]
    rates = [(t.dataset.y_given != t.dataset.y_true)[t.splits.train].double().mean().item() for t in tasks]
    assert outcome.noise_rates == pytest.approx(rates * 2, abs=1e-12)
    assert rates[0] != rates[1]


def test_finished_packs_are_not_run_again_and_give_the_same_outcome(tmp_path, monkeypatch):
    first, _ = compare(BASE, ["ce", "gce"], tmp_path)
    monkeypatch.setattr(module, "run_pack", None)
    second, heard = compare(BASE, ["ce", "gce"], tmp_path)
    assert second == first
    assert heard.said == ["ce: finished before, not run again", "gce: finished before, not run again"]


def test_only_what_is_missing_is_run(tmp_path):
    first, _ = compare(BASE, ["ce", "gce"], tmp_path)
    (closing,) = tmp_path.glob("gce-*/finished.json")
    closing.unlink()
    second, heard = compare(BASE, ["ce", "gce"], tmp_path)
    assert heard.began == [("gce", 2, 2)]
    assert second.records == first.records


def test_the_noise_rate_is_told_to_methods_that_assume_it(tmp_path):
    compare(replace(BASE, noise="pair:0.25"), ["co_teaching"], tmp_path, seeds=1)
    (closing,) = tmp_path.glob("co_teaching-*/finished.json")
    assert '"forget": 0.25' in closing.read_text()


@pytest.mark.parametrize(
    ("base", "methods", "sentence"),
    [
        (BASE, [], "methods is empty"),
        (BASE, ["ce", "gse"], "unknown method 'gse'; did you mean 'gce'?"),
        (replace(BASE, data="gausians"), ["ce"], "unknown data set 'gausians'; did you mean 'gaussians'?"),
        (replace(BASE, net=Named("mpl")), ["ce"], "unknown net 'mpl'; did you mean 'mlp'?"),
        (replace(BASE, net=Named("lenet5")), ["ce"], "net 'lenet5': inputs of shape (2,) are no images"),
        (replace(BASE, noise="symetric:0.4"), ["ce"], "unknown noise 'symetric'; did you mean 'symmetric'?"),
        (
            replace(BASE, train=Train(epochs=2)),
            ["ce", "t_revision"],
            "epochs is 2, but each of the 3 stages of 't_revision' needs one",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, base, methods, sentence):
    with pytest.raises(InputError) as caught:
        compare(base, methods, tmp_path / "out")
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_default_folder_is_named_after_data_and_noise_and_changes_with_the_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [compare(base, ["ce"], None, seeds=1)[0].folder for base in (BASE, replace(BASE, noise="pair:0.3"))]
    assert [folder.parent for folder in folders] == [Path("runs")] * 2
    assert [folder.name.rpartition("-")[0] for folder in folders] == ["gaussians-symmetric-0.3", "gaussians-pair-0.3"]


def test_a_matrix_file_that_has_changed_is_another_config(tmp_path):
    path, out = tmp_path / "T.csv", tmp_path / "out"
    path.write_text("0.9,0.1\n0.2,0.8\n")
    base = replace(BASE, noise=f"matrix:{path}")
    compare(base, ["ce"], out, seeds=1)
    path.write_text("0.6,0.4\n0.2,0.8\n")
    with pytest.raises(InputError, match="holds runs of another config"):
        compare(base, ["ce"], out, seeds=1)


def test_a_run_that_fails_is_named_now_and_when_the_command_is_typed_again(tmp_path):
    reckless = replace(BASE, train=replace(BASE.train, optimiser=Optimiser("sgd", lr=1e30)))
    outcome, heard = compare(reckless, ["ce"], tmp_path, seeds=1)
    again, heard_again = compare(reckless, ["ce"], tmp_path, seeds=1)
    assert list(outcome.failed.values()) == ["ce"]
    assert again == outcome
    (sentence,) = heard.said
    assert sentence.startswith("ce, seed 0: the loss was not finite in epoch 1, step ")
    assert heard_again.said == ["ce: finished before, not run again", sentence]
