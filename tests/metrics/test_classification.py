import numpy as np
import pytest
import torch

from labelnoise.metrics import accuracy, binned_ece, ece, nll, selection_precision_recall
from labelnoise.rng import Rng

PROBS = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.5, 0.1], [0.2, 0.2, 0.6]], dtype=torch.float64)
Y = torch.tensor([0, 1, 1, 2])

# top probabilities, and whether the label is theirs
CONFIDENCE = torch.tensor([0.955, 0.957, 0.913, 0.605, 0.642, 0.335], dtype=torch.float64)
CORRECT = torch.tensor([1, 0, 1, 1, 0, 0])


def binned(confidence, correct, bins):
    """Bin by bin, each (lo, hi]."""
    total = 0.0
    for b in range(bins):
        inside = [i for i, c in enumerate(confidence) if b / bins < c <= (b + 1) / bins]
        if inside:
            total += abs(np.mean([correct[i] for i in inside]) - np.mean([confidence[i] for i in inside])) * len(inside)
    return total / len(confidence)


def test_accuracy_is_the_share_of_hits():
    assert accuracy(PROBS.log(), Y).item() == 0.75


def test_nll_is_the_mean_surprise():
    expected = -np.mean(np.log([0.7, 0.3, 0.5, 0.6]))
    assert nll(PROBS.log(), Y).item() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("bins", "expected"), [(100, 0.39516667), (15, 0.2635), (10, 0.2345), (1, 0.2345)])
def test_ece_of_the_worked_example(bins, expected):
    # four classes, so that the rest, spread evenly, stays below the top
    rest = (1 - CONFIDENCE[:, None]) / 3
    probs = torch.cat([CONFIDENCE[:, None], rest.expand(-1, 3)], 1)
    assert ece(probs, 1 - CORRECT, bins).item() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("bins", [1, 2, 15, 100])
def test_ece_equals_a_loop_over_bins(bins):
    probs = Rng(0, "ece", dtype=torch.float64).normal(500, 4).softmax(-1)
    y = Rng(1, "ece").integers(4, 500)
    top, predicted = probs.max(1)
    expected = binned(top.tolist(), (predicted == y).long().tolist(), bins)
    assert ece(probs, y, bins).item() == pytest.approx(expected, abs=1e-14)


def test_ece_from_bins_is_that_of_the_predictions():
    rng = np.random.default_rng(0)
    probs, y = rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500)
    confidence, correct = probs.max(1), probs.argmax(1) == y
    place = np.ceil(confidence * 15).astype(int) - 1
    bins = np.array([[(m := place == b).sum(), confidence[m].sum(), correct[m].sum()] for b in range(15)], dtype=float)
    assert binned_ece(bins).item() == pytest.approx(ece(probs, y).item(), abs=1e-12)


@pytest.mark.parametrize(("bins", "expected"), [(100, 0.39516667), (15, 0.2635), (10, 0.2345), (1, 0.2345)])
def test_ece_of_the_worked_example_from_merged_bins(bins, expected):
    place = np.ceil(CONFIDENCE.numpy() * 300).astype(int) - 1
    fine = np.zeros((300, 3))
    np.add.at(fine, place, np.stack([np.ones(6), CONFIDENCE, CORRECT], 1))
    assert binned_ece(fine, into=bins).item() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("bins", [10, 15, 100])
def test_a_confidence_on_an_edge_belongs_to_the_bin_below(bins):
    top = torch.arange(bins // 2 + 1, bins + 1, dtype=torch.float64) / bins
    probs = torch.stack([top, 1 - top], 1)
    y = torch.arange(len(top)) % 2
    assert ece(probs, y, bins).item() == pytest.approx(binned(top.tolist(), (1 - y).tolist(), bins), abs=1e-14)


def test_certain_and_right_is_calibrated():
    assert ece(torch.eye(3), torch.arange(3)).item() == 0


def test_certain_and_wrong_is_not():
    assert ece(torch.eye(3), torch.tensor([1, 2, 0])).item() == 1


def test_precision_and_recall_of_suspects():
    selected = torch.tensor([True, True, True, False, False])
    wrong = torch.tensor([True, False, True, True, False])
    assert [value.item() for value in selection_precision_recall(selected, wrong)] == [2 / 3, 2 / 3]


def test_precision_of_no_suspects_and_recall_of_no_wrong_labels_are_undefined():
    nobody, somebody = torch.zeros(3, dtype=torch.bool), torch.tensor([True, False, False])
    assert selection_precision_recall(nobody, somebody).precision.isnan()
    assert selection_precision_recall(nobody, somebody).recall == 0
    assert selection_precision_recall(somebody, nobody).recall.isnan()
    assert selection_precision_recall(somebody, nobody).precision == 0


@pytest.mark.parametrize("metric", [accuracy, nll, ece])
@pytest.mark.parametrize("shared", [True, False])
def test_a_run_axis_gives_one_number_per_run(metric, shared):
    runs = Rng(0, "runs", dtype=torch.float64).normal(3, 20, 4).log_softmax(-1)
    scores = runs.exp() if metric is ece else runs
    y = Rng(1, "runs").integers(4, 20) if shared else Rng(1, "runs").integers(4, 3, 20)
    alone = [metric(scores[r], y if shared else y[r]).item() for r in range(3)]
    assert metric(scores, y).tolist() == pytest.approx(alone, abs=1e-15)


@pytest.mark.parametrize("metric", [accuracy, nll, ece])
def test_arrays_and_tensors_score_alike(metric):
    assert metric(PROBS.numpy(), Y.numpy().astype(np.int32)) == metric(PROBS, Y)


@pytest.mark.parametrize("metric", [accuracy, nll, ece])
def test_labels_of_another_shape_are_not_broadcast(metric):
    with pytest.raises(RuntimeError, match="expand"):
        metric(PROBS, Y[:, None])


@pytest.mark.parametrize("metric", [accuracy, nll, ece])
def test_metrics_never_look_at_values(metric):
    # tensors without values: whatever would wait for a device raises
    assert metric(PROBS.to("meta"), Y.to("meta")).shape == ()


@pytest.mark.parametrize("metric", [accuracy, nll, ece])
def test_metrics_come_in_float64(metric):
    assert metric(PROBS.float(), Y).dtype == torch.float64
