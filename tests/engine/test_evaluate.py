from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import Splits
from labelnoise.engine import evaluate as module
from labelnoise.engine.evaluate import counted_margins, details, evaluate, training_probs
from labelnoise.engine.executors import EXECUTORS
from labelnoise.methods.base import Method
from labelnoise.types import DataSpec

CLASSES, SEEDS = 4, (0, 1)


@dataclass(frozen=True)
class Backwards(Method):
    """Takes given labels for true ones in reverse."""

    def noisy_log_probs(self, nets, x, ctx):
        return self.log_probs(nets, x, ctx).flip(-1)


def scene(executor="streams", truth=True, foreign=()):
    x = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    given, true = torch.arange(50) % CLASSES, torch.arange(50) // 3 % CLASSES
    parts = torch.arange(50).flip(0).split([23, 12, 15])
    true[list(foreign)] = -1
    data = Dataset("made up", x, given, true if truth else None, tuple("abcd"))
    loader = Loader([Task(data, Splits(*parts), seed) for seed in SEEDS], dtype=torch.float64)
    spec = DataSpec((3,), CLASSES, loader.samples, lambda head: nn.Sequential(nn.Linear(3, head), nn.Dropout(0.5)))
    runner = EXECUTORS[executor]([Backwards()] * 2, spec, SEEDS, torch.zeros((), dtype=torch.float64))
    runner.enter(0, Optimiser())
    return runner, loader, data, dict(zip(("train", "validation", "test"), parts, strict=True))


def probabilities(runner, data, run):
    """By numpy, from the weights of the run's only layer."""
    state = runner.state()
    weight, bias = (state[f"weights|nets.net.0.{name}"][run].numpy() for name in ("weight", "bias"))
    powers = np.exp(data.x.numpy() @ weight.T + bias)
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("rows", [5, 512])
def test_measures_equal_a_loop_over_rows(executor, rows, monkeypatch):
    monkeypatch.setattr(module, "ROWS", rows)
    runner, loader, data, parts = scene(executor)
    measures = evaluate(runner, loader)
    for run in range(len(SEEDS)):
        probs = probabilities(runner, data, run)
        for part, members in parts.items():
            for which, labels in (("given", data.y_given), ("true", data.y_true)):
                right = [probs[i].argmax() == labels[i].item() for i in members.tolist()]
                surprise = [-np.log(probs[i, labels[i].item()]) for i in members.tolist()]
                assert measures[f"{part}/accuracy_{which}"][run].item() == pytest.approx(np.mean(right), abs=1e-12)
                assert measures[f"{part}/nll_{which}"][run].item() == pytest.approx(np.mean(surprise), abs=1e-12)


def test_of_a_large_training_part_an_even_share_is_judged(monkeypatch):
    monkeypatch.setattr(module, "MOST_LEARNT", 10)
    monkeypatch.setattr(module, "ROWS", 4)
    runner, loader, data, parts = scene()
    measures = evaluate(runner, loader)
    some = parts["train"].tolist()[::3]  # 23 rows, at most 10
    for run in range(len(SEEDS)):
        probs = probabilities(runner, data, run)
        right = [probs[i].argmax() == data.y_given[i].item() for i in some]
        wrong = [probs[i].argmax() == data.y_given[i].item() for i in some if data.y_true[i] != data.y_given[i]]
        assert measures["train/accuracy_given"][run].item() == pytest.approx(np.mean(right), abs=1e-12)
        assert measures["train/wrong_accuracy_given"][run].item() == pytest.approx(np.mean(wrong), abs=1e-12)
        all_of_it = [probs[i].argmax() == data.y_given[i].item() for i in parts["test"].tolist()]
        assert measures["test/accuracy_given"][run].item() == pytest.approx(np.mean(all_of_it), abs=1e-12)


def test_progress_goes_by_rows_and_ends_at_one(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 10)
    runner, loader, *_ = scene()
    heard = []
    evaluate(runner, loader, progress=heard.append)
    assert heard == pytest.approx([10 / 50, 20 / 50, 23 / 50, 33 / 50, 35 / 50, 45 / 50, 1.0])


def test_the_score_compares_predictions_of_given_labels_on_noisy_validation():
    runner, loader, data, parts = scene()
    score = evaluate(runner, loader)["validation/score"]
    for run in range(len(SEEDS)):
        probs = probabilities(runner, data, run)
        right = [probs[i, ::-1].argmax() == data.y_given[i].item() for i in parts["validation"].tolist()]
        assert score[run].item() == pytest.approx(np.mean(right), abs=1e-12)


def test_every_measure_has_one_value_per_run():
    runner, loader, *_ = scene("packed")
    measures = evaluate(runner, loader)
    assert {tuple(value.shape) for value in measures.values()} == {(2,)}
    assert len(measures) == 3 * 4 + 1 + 2 * 3


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_error_of_a_methods_matrix_is_the_mean_over_entries(executor):
    runner, loader, data, parts = scene(executor)
    matrices = torch.rand(2, CLASSES, CLASSES, generator=torch.Generator().manual_seed(1)).double()
    runner.set_aux({"T": matrices})
    errors, counts = evaluate(runner, loader)["train/T_error"], np.zeros((CLASSES, CLASSES))
    for i in parts["train"].tolist():
        counts[data.y_true[i], data.y_given[i]] += 1
    for run in range(len(SEEDS)):
        off = np.abs(matrices[run].numpy() - counts / counts.sum(1, keepdims=True))
        assert errors[run].item() == pytest.approx(off.mean(), abs=1e-12)


def test_a_matrix_without_truth_has_no_error():
    runner, loader, *_ = scene(truth=False)
    runner.set_aux({"T": torch.eye(CLASSES).double().expand(2, -1, -1)})
    assert "train/T_error" not in evaluate(runner, loader)


@pytest.mark.parametrize("part", ["train", "validation"])
def test_rows_with_right_and_wrong_labels_are_judged_apart(part):
    runner, loader, data, parts = scene()
    measures = evaluate(runner, loader)
    rows = [(i, data.y_given[i].item(), data.y_true[i].item()) for i in parts[part].tolist()]
    for run in range(len(SEEDS)):
        guess = probabilities(runner, data, run).argmax(1)
        expected = {
            "clean_accuracy": [guess[i] == true for i, given, true in rows if given == true],
            "wrong_accuracy_true": [guess[i] == true for i, given, true in rows if given != true],
            "wrong_accuracy_given": [guess[i] == given for i, given, true in rows if given != true],
        }
        for name, hits in expected.items():
            assert measures[f"{part}/{name}"][run].item() == pytest.approx(np.mean(hits), abs=1e-12)


FOREIGN = range(0, 50, 5)  # rows that belong to none of the classes


def test_rows_of_no_class_are_compared_with_given_labels_only():
    runner, loader, data, parts = scene(foreign=FOREIGN)
    measures = evaluate(runner, loader)
    for run in range(len(SEEDS)):
        probs = probabilities(runner, data, run)
        for part, members in parts.items():
            known = [i for i in members.tolist() if i not in FOREIGN]
            right = [probs[i].argmax() == data.y_true[i].item() for i in known]
            surprise = [-np.log(probs[i, data.y_true[i].item()]) for i in known]
            assert measures[f"{part}/accuracy_true"][run].item() == pytest.approx(np.mean(right), abs=1e-12)
            assert measures[f"{part}/nll_true"][run].item() == pytest.approx(np.mean(surprise), abs=1e-12)
            given = [probs[i].argmax() == data.y_given[i].item() for i in members.tolist()]
            assert measures[f"{part}/accuracy_given"][run].item() == pytest.approx(np.mean(given), abs=1e-12)


def test_rows_of_no_class_can_be_memorised_but_not_recovered():
    runner, loader, data, parts = scene(foreign=FOREIGN)
    measures = evaluate(runner, loader)
    rows = [(i, data.y_given[i].item(), data.y_true[i].item()) for i in parts["train"].tolist()]
    guess = probabilities(runner, data, 0).argmax(1)
    memorised = [guess[i] == given for i, given, true in rows if given != true]
    recovered = [guess[i] == true for i, given, true in rows if given != true and true >= 0]
    assert measures["train/wrong_accuracy_given"][0].item() == pytest.approx(np.mean(memorised), abs=1e-12)
    assert measures["train/wrong_accuracy_true"][0].item() == pytest.approx(np.mean(recovered), abs=1e-12)


def test_details_leave_out_rows_of_no_class():
    runner, loader, data, parts = scene(foreign=FOREIGN)
    found = details(runner, loader, CLASSES)
    known = {part: [i for i in rows.tolist() if i not in FOREIGN] for part, rows in parts.items()}
    guess = probabilities(runner, data, 1).argmax(1)
    confusion, counts = np.zeros((4, 4)), np.zeros((4, 4))
    for i in known["test"]:
        confusion[data.y_true[i], guess[i]] += 1
    for i in known["train"]:
        counts[data.y_true[i], data.y_given[i]] += 1
    np.testing.assert_array_equal(found["test_confusion"][1].numpy(), confusion)
    np.testing.assert_array_equal(found["train_counts"][1].numpy(), counts)
    assert found["test_bins"][1, :, 0].sum() == len(known["test"])


def test_nothing_is_compared_with_true_labels_that_are_unknown():
    runner, loader, *_ = scene(truth=False)
    names = {name.split("/")[1] for name in evaluate(runner, loader)}
    assert names == {"accuracy_given", "nll_given", "score"}
    assert "train_counts" not in details(runner, loader, CLASSES)
    assert counted_margins(runner, loader, CLASSES) == {}


@pytest.mark.parametrize("truth", [True, False])
def test_details_equal_counts_by_hand(truth, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 4)
    runner, loader, data, parts = scene("packed", truth)
    found = details(runner, loader, CLASSES)
    reference = data.y_true if truth else data.y_given
    for run in range(len(SEEDS)):
        probs = probabilities(runner, data, run)
        confusion, counts, bins = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((300, 3))
        for i in parts["test"].tolist():
            top, guess = probs[i].max(), probs[i].argmax()
            confusion[reference[i], guess] += 1
            bins[int(np.ceil(top * 300)) - 1] += [1, top, guess == reference[i].item()]
        for i in parts["validation"].tolist():
            counts[probs[i].argmax(), data.y_given[i]] += 1
        np.testing.assert_array_equal(found["test_confusion"][run].numpy(), confusion)
        np.testing.assert_array_equal(found["validation_counts"][run].numpy(), counts)
        np.testing.assert_allclose(found["test_bins"][run].numpy(), bins, atol=1e-12)


def test_details_count_true_against_given_labels_of_the_training_rows():
    runner, loader, data, parts = scene()
    expected = np.zeros((4, 4))
    for i in parts["train"].tolist():
        expected[data.y_true[i], data.y_given[i]] += 1
    np.testing.assert_array_equal(details(runner, loader, CLASSES)["train_counts"][1].numpy(), expected)


@pytest.mark.parametrize("most", [100, 10])  # of 23 rows: all, or every third
@pytest.mark.parametrize("executor", EXECUTORS)
def test_margins_are_counted_by_part_and_label(executor, most, monkeypatch):
    monkeypatch.setattr(module, "MOST_LEARNT", most)
    monkeypatch.setattr(module, "ROWS", 4)
    runner, loader, data, parts = scene(executor, foreign=FOREIGN)
    found = counted_margins(runner, loader, CLASSES)["margin_counts"]
    assert found.shape == (2, 3, 3, 60)
    for run in range(len(SEEDS)):
        probs, expected = probabilities(runner, data, run), np.zeros((3, 3, 60))
        for i in parts["train"].tolist()[:: 1 if most == 100 else 3]:
            given, true = data.y_given[i].item(), data.y_true[i].item()
            for part in (0, 1 if given == true else 2):
                for place, label in enumerate((true, given, probs[i].argmax())):
                    if label >= 0:  # its margin is p - 1/4, and the bins begin at -1/4
                        expected[part, place, int(np.ceil(probs[i, label] * 60)) - 1] += 1
        np.testing.assert_array_equal(found[run].numpy(), expected)


def test_a_signal_is_heard_between_chunks_of_every_part(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 5)
    runner, loader, *_ = scene()
    heard = []
    details(runner, loader, CLASSES, lambda: heard.append(1))
    counted_margins(runner, loader, CLASSES, lambda: heard.append(1))
    assert len(heard) == 5 + 3 + 3  # of 23, 12 and 15 rows


def test_evaluating_leaves_no_trace():
    runner, loader, *_ = scene()
    before = {name: value.clone() for name, value in runner.state().items()}
    first, second = evaluate(runner, loader), evaluate(runner, loader)
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    assert all(torch.equal(value, runner.state()[name]) for name, value in before.items())


def test_training_probs_are_those_of_the_training_rows_in_order(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 7)
    runner, loader, data, parts = scene()
    probs = training_probs(runner, loader)
    assert probs.shape == (2, 23, CLASSES)
    for run in range(2):
        expected = probabilities(runner, data, run)[parts["train"].numpy()]
        np.testing.assert_allclose(probs[run].numpy(), expected, rtol=0, atol=1e-12)
