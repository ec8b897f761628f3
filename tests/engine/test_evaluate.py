from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset, Splits
from labelnoise.data.loader import Loader, Task
from labelnoise.engine import evaluate as module
from labelnoise.engine.evaluate import evaluate, training_probs
from labelnoise.engine.executors import EXECUTORS
from labelnoise.methods.base import Method
from labelnoise.types import DataSpec

CLASSES, SEEDS = 4, (0, 1)


@dataclass(frozen=True)
class Backwards(Method):
    """Takes given labels for true ones in reverse."""

    def noisy_log_probs(self, nets, x, ctx):
        return self.log_probs(nets, x, ctx).flip(-1)


def scene(executor="streams", truth=True):
    x = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    given, true = torch.arange(50) % CLASSES, torch.arange(50) // 3 % CLASSES
    parts = torch.arange(50).flip(0).split([23, 12, 15])
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
    assert len(measures) == 3 * 4 + 1


def test_nothing_is_compared_with_true_labels_that_are_unknown():
    runner, loader, *_ = scene(truth=False)
    assert not any(name.endswith("_true") for name in evaluate(runner, loader))


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
