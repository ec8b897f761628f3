from functools import partial

import pytest
import torch

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import Splits
from labelnoise.engine import features
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.features import line, projection
from labelnoise.methods.ce import CE
from labelnoise.methods.co_teaching import CoTeaching
from labelnoise.methods.heteroscedastic import Heteroscedastic
from labelnoise.nets import build
from labelnoise.types import DataSpec

SEEDS = (0, 1)


def scene(executor="streams", method=None, *, rows=60, truth=True, classes=4, shape=(5,), widths="7"):
    """Two runs of a small network; class 1 is the rarest, the other labels are equally frequent."""
    x = torch.randn(rows, *shape, generator=torch.Generator().manual_seed(0))
    given, true = torch.arange(rows) % classes, torch.arange(rows) // 3 % classes
    given[torch.arange(rows) % (2 * classes) == 1] = 0
    data = Dataset("made up", x, given, true if truth else None, tuple(f"c{i}" for i in range(classes)))
    parts = torch.arange(rows).split([rows - 20, 10, 10])
    loader = Loader([Task(data, Splits(*parts), seed) for seed in SEEDS])
    spec = DataSpec(shape, classes, loader.samples, partial(build, "mlp", shape, settings={"widths": widths}))
    runner = EXECUTORS[executor]([method or CE()] * 2, spec, SEEDS, torch.zeros(()))
    runner.enter(0, Optimiser())
    return runner, loader, spec, data


def coordinates(phi, origin, right, up):
    """Of one row, by hand: steps along the first direction, and along what the second has besides it."""
    first = (right - origin) / (right - origin).norm()
    rest = (up - origin) - ((up - origin) @ first) * first
    return [float((phi - origin) @ first), float((phi - origin) @ rest / rest.norm())]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_points_are_features_of_training_rows_on_the_plane_of_the_weights(executor):
    runner, loader, spec, data = scene(executor)
    state = {name.removeprefix("weights|nets.net."): value.double() for name, value in runner.state().items()}
    found = projection(runner, loader, spec)
    x, given, true = (each[:40] for each in (data.x.double(), data.y_given, data.y_true))
    for run in range(2):
        assert found["projection_classes"][run].tolist() == [0, 2, 3]
        own = {name: value[run] for name, value in state.items()}
        phi = (x @ own["body.1.weight"].T + own["body.1.bias"]).clamp(min=0)
        phi = torch.cat([phi, torch.ones(40, 1)], 1)
        w = torch.cat([own["head.weight"], own["head.bias"][:, None]], 1)
        shown = [row for row in range(40) if given[row] != 1]
        expected = [
            [*coordinates(phi[row], w[0], w[2], w[3]), int(given[row]), given[row] != true[row]] for row in shown
        ]
        points, *labels = (found[f"projection_{name}"][run] for name in ("points", "given", "wrong"))
        rows = torch.cat([points, torch.stack(labels, 1)], 1)
        torch.testing.assert_close(rows[rows[:, 0].argsort()], torch.tensor(sorted(expected)), atol=1e-4, rtol=0)


def test_packed_and_alone_find_the_same():
    alone, packed = (projection(*scene(executor)[:3]) for executor in ("streams", "packed"))
    assert alone.keys() == packed.keys()
    for name, value in alone.items():
        torch.testing.assert_close(packed[name], value)


def test_a_large_part_is_thinned_and_three_hundred_rows_are_kept(monkeypatch):
    monkeypatch.setattr(features, "SEEN", 150)
    runner, loader, spec, _ = scene(rows=2000)
    pauses = []
    found = projection(runner, loader, spec, lambda: pauses.append(1))
    assert found["projection_points"].shape == (2, 300, 2)
    assert len(pauses) == 2  # every fourth of 1,980 rows, 256 at once
    assert not torch.equal(*found["projection_points"])


def test_no_label_is_called_wrong_where_the_truth_is_unknown():
    assert not projection(*scene(truth=False)[:3])["projection_wrong"].any()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_of_several_networks_it_is_one_with_a_linear_head(executor):
    runner, loader, spec, _ = scene(executor, CoTeaching())
    assert projection(runner, loader, spec)["projection_points"].isfinite().all()


@pytest.mark.parametrize("other", [{"classes": 2}, {"method": Heteroscedastic()}])
def test_nothing_is_found_without_three_classes_and_a_linear_head(other):
    assert projection(*scene(**other)[:3]) == {}


def test_weights_that_span_no_plane_give_points_that_are_no_numbers():
    runner, loader, spec, _ = scene()
    with torch.no_grad():
        runner.lanes[1].params["nets.net.head.weight"].zero_()
    first, second = projection(runner, loader, spec)["projection_points"]
    assert first.isfinite().all()
    assert second.isnan().all()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_line_is_where_a_linear_network_is_undecided(executor):
    runner, loader, spec, _ = scene(executor, shape=(2,), classes=2, widths="none")
    x = next(loader.chunks("test", 10)).x
    log_probs = runner.log_probs(x)
    lead = torch.einsum("rbi,ri->rb", torch.cat([x, torch.ones(2, 10, 1)], -1), line(runner, spec)["line"])
    torch.testing.assert_close(lead, log_probs[..., 1] - log_probs[..., 0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("other", [{"shape": (3,)}, {"classes": 3}, {"widths": "7"}, {"method": Heteroscedastic()}])
def test_what_is_no_line_is_not_called_one(other):
    runner, _, spec, _ = scene(**{"shape": (2,), "classes": 2, "widths": "none"} | other)
    assert line(runner, spec) == {}
