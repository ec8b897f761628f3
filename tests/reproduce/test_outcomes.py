import json
import math
from types import SimpleNamespace

import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.reproduce.outcomes import Outcome, keep, outcome, read
from labelnoise.results.record import Record

FACTS = {
    "device": "cpu",
    "executor": "packed",
    "versions": {"torch": "2"},
    "finished": "today",
    "seconds": 3.0,
    "commit": "c0ffee",
}


def run(accuracies, scores, failed=None, seed=0, *, details=None, measure="test/accuracy_true"):
    records = [
        Record("a1", "ce", seed, "train", epoch, {measure: accuracy, "validation/score": score})
        for epoch, (accuracy, score) in enumerate(zip(accuracies, scores, strict=True))
    ]
    config = {"data": {"source": "digits"}, "noise": "none", "method": {"name": "ce", "settings": {}}, "seed": seed}
    return SimpleNamespace(
        identity=f"a{seed}",
        config=config,
        noise_rate=0.4,
        failed=failed,
        records=records,
        pack=SimpleNamespace(facts=FACTS),
        details=details or {},
    )


def test_each_rule_has_the_measures_of_its_epoch():
    found = outcome(run([0.5, 0.9, 0.7], [0.3, 0.2, 0.1]))
    assert found.epochs == {"last": 2, "selected": 0, "oracle": 1}
    assert {rule: found.measured(rule, "test/accuracy_true") for rule in found.epochs} == {
        "last": 0.7,
        "selected": 0.5,
        "oracle": 0.9,
    }
    assert (found.commit, found.facts["device"], "seconds" in found.facts) == ("c0ffee", "cpu", False)


def test_the_last_ten_epochs_are_averaged():
    accuracies = [0.1, 0.1, *(0.5 + 0.01 * k for k in range(10))]
    found = outcome(run(accuracies, [0.0] * 12))
    assert found.measured("last_ten", "test/accuracy_true") == pytest.approx(0.545)


def test_a_run_that_failed_has_no_measures():
    found = outcome(run([0.5], [0.5], failed=(0, 3)))
    assert (found.failed, found.measures, found.measured("last", "test/accuracy_true")) == ((0, 3), {}, None)


def test_what_was_kept_is_read_as_it_was_in_an_order_of_its_own(tmp_path):
    path, outcomes = tmp_path / "runs.jsonl", [outcome(run([0.5], [0.5], seed=seed)) for seed in (2, 0, 1)]
    keep(path, outcomes)
    assert list(read(path)) == ["a0", "a1", "a2"]
    assert read(path) == {each.run: each for each in outcomes}


def test_what_is_no_number_is_null_in_the_file(tmp_path):
    path, found = tmp_path / "runs.jsonl", outcome(run([math.nan], [0.5]))
    keep(path, [found])
    assert json.loads(path.read_text())["measures"]["last"]["test/accuracy_true"] is None
    (back,) = read(path).values()
    assert isinstance(back, Outcome)
    assert back.measured("last", "test/accuracy_true") is None


def test_no_file_is_no_outcome_and_a_damaged_one_is_refused(tmp_path):
    assert read(tmp_path / "none") == {}
    path = tmp_path / "runs.jsonl"
    path.write_text("{}\n")
    with pytest.raises(InputError, match="is not a file of outcomes"):
        read(path)


def test_where_the_truth_is_unknown_accuracy_is_that_of_the_labels_there_are():
    found = outcome(run([0.5], [0.5], measure="test/accuracy_given"))
    assert found.measured("last", "test/accuracy_true") == 0.5


def test_the_calibration_error_is_known_after_the_last_epoch_and_the_selected_one():
    last, selected = torch.zeros(2, 300, 3)
    last[299] = torch.tensor([10.0, 9.9, 5.0])  # rows, summed confidence, hits
    selected[299] = torch.tensor([10.0, 9.9, 8.0])
    found = outcome(run([0.5, 0.5], [0.5, 0.4], details={"last_test_bins": last, "test_bins": selected}))
    assert found.measured("last", "test/ece_100") == pytest.approx(0.49)
    assert found.measured("selected", "test/ece_100") == pytest.approx(0.19)
    assert found.measured("oracle", "test/ece_100") is None


def test_the_divergence_is_the_methods_own_between_true_and_predicted_classes():
    counts = torch.tensor([[30.0, 10.0], [0.0, 60.0]])
    made = run([0.5], [0.5], details={"test_confusion": counts})
    assert outcome(made).measured("selected", "test/divergence") is None  # cross-entropy has none
    made.config["method"] = {"name": "f_divergence", "settings": {"divergence": "total_variation"}}
    joint = counts.numpy() / 100
    product = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    assert outcome(made).measured("selected", "test/divergence") == pytest.approx(abs(joint - product).sum() / 2)
