import numpy as np
import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import Splits
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.plane import plane
from labelnoise.methods.ce import CE
from labelnoise.types import DataSpec

SEEDS = (0, 1)


def scene(executor="streams", *, rows=50, truth=True, features=2, classes=3):
    """Two runs of one linear layer, on inputs of a plane that is wider than high."""
    x = torch.randn(rows, features, dtype=torch.float32, generator=torch.Generator().manual_seed(0))
    x[:, 0] = 3 * x[:, 0] + 1
    given, true = torch.arange(rows) % classes, torch.arange(rows) // 3 % classes
    parts = torch.arange(rows).split([rows - 20, 10, 10])
    names = tuple(f"c{i}" for i in range(classes))
    data = Dataset("made up", x, given, true if truth else None, names)
    loader = Loader([Task(data, Splits(*parts), seed) for seed in SEEDS])
    spec = DataSpec((features,), classes, loader.samples, lambda head: nn.Sequential(nn.Linear(features, head)))
    runner = EXECUTORS[executor]([CE()] * 2, spec, SEEDS, torch.zeros(()))
    runner.enter(0, Optimiser())
    return runner, loader, spec, data


@pytest.mark.parametrize("executor", EXECUTORS)
def test_probabilities_on_the_grid_equal_a_loop_over_its_points(executor):
    runner, loader, spec, _ = scene(executor)
    found, state = plane(runner, loader, spec), runner.state()
    assert found["plane_probs"].shape == (2, 3, 64, 64)
    for run in range(2):
        weight, bias = (state[f"weights|nets.net.0.{name}"][run].numpy() for name in ("weight", "bias"))
        left, right, bottom, top = found["plane_frame"][run].tolist()
        for line in (0, 1, 31, 63):
            for column in (0, 2, 40, 63):
                point = [left + (right - left) * column / 63, bottom + (top - bottom) * line / 63]
                powers = np.exp(weight @ point + bias)
                here = found["plane_probs"][run, :, line, column].numpy()
                np.testing.assert_allclose(here, powers / powers.sum(), atol=1e-5)


def test_the_frame_has_the_training_points_and_a_margin_inside():
    runner, loader, spec, data = scene()
    x = data.x[:30].numpy()  # the training part
    low, high = x.min(0), x.max(0)
    room = 0.08 * (high - low)
    expected = [low[0] - room[0], high[0] + room[0], low[1] - room[1], high[1] + room[1]]
    np.testing.assert_allclose(plane(runner, loader, spec)["plane_frame"].numpy(), [expected] * 2, rtol=1e-5)


def test_a_constant_column_still_has_a_frame():
    runner, loader, spec, _ = scene()
    loader.pool[:, 1] = 5
    assert plane(runner, loader, spec)["plane_frame"][:, 2:].tolist() == [[4, 6]] * 2


def test_points_are_training_rows_with_their_labels():
    runner, loader, spec, data = scene()
    y_given, y_true = data.y_given.tolist(), data.y_true.tolist()
    expected = {(*data.x[row].tolist(), y_given[row], y_given[row] != y_true[row]) for row in range(30)}
    found = plane(runner, loader, spec)
    for run in range(2):
        each = [found[f"plane_{name}"][run].tolist() for name in ("points", "given", "wrong")]
        assert {(*point, given, wrong) for point, given, wrong in zip(*each, strict=True)} == expected


def test_of_many_points_three_hundred_are_kept_another_choice_by_seed():
    runner, loader, spec, _ = scene(rows=1000)
    first, second = plane(runner, loader, spec)["plane_points"]
    assert len(first) == len({*map(tuple, first.tolist())}) == 300
    assert not torch.equal(first, second)


def test_no_label_is_called_wrong_where_the_truth_is_unknown():
    runner, loader, spec, _ = scene(truth=False)
    assert not plane(runner, loader, spec)["plane_wrong"].any()


@pytest.mark.parametrize("other", [{"features": 3}, {"features": 1}, {"classes": 9}])
def test_nothing_is_found_that_no_plane_can_show(other):
    runner, loader, spec, _ = scene(**other)
    assert plane(runner, loader, spec) == {}


def test_it_pauses_between_chunks():
    runner, loader, spec, _ = scene()
    pauses = []
    plane(runner, loader, spec, lambda: pauses.append(1))
    assert len(pauses) >= 64 * 64 / 256
