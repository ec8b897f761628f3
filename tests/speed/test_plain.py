import math
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from labelnoise.config import Augment, Named
from labelnoise.engine.optim import make
from labelnoise.speed.cases import CASES, Bench, Case, images
from labelnoise.speed.plain import CrossEntropy, Images, learner, plain_rate, serve, train, training_images
from labelnoise.speed.running import ready
from labelnoise.testing import Silent

CPU = torch.device("cpu")
SMALL = Case("mnist", Named("mlp", {"widths": "8"}), 64, runs=3, few=(2, 64))


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))


def in_engine(case):
    return ready(case.config(Named("ce")), 1, "streams", images(case.data, 2000), device=CPU, watch=Silent())


class Recorded(nn.Module):
    """Cross-entropy whose losses are kept."""

    def __init__(self, net):
        super().__init__()
        self.learns, self.losses = CrossEntropy(net), []

    def forward(self, x, y):
        loss = self.learns(x, y)
        self.losses.append(loss.item())
        return loss


def test_the_loop_has_the_losses_of_the_engine_on_the_same_batches():
    case = CASES["lenet5"]
    training = in_engine(case)
    lane, phase = training.executor.lanes[0], training.phases[0]
    recorded = Recorded(deepcopy(lane.module.networks["net"]))
    batches = [batch for batch, _ in training.loader.epoch(0, case.batch)]
    engine = [
        training.executor.step(batch, (), {}, training.clock(phase, step, len(batches))).loss.item()
        for step, batch in enumerate(batches)
    ]
    served = [(batch.x[0], batch.y[0]) for batch in batches]
    optimiser = make(case.optimiser, [{"params": list(recorded.parameters())}])
    train(recorded, optimiser, served, CPU, Silent(), epochs=1, steps=len(served))
    assert len(engine) > 5
    assert recorded.losses == pytest.approx(engine, abs=1e-5)


def test_the_loop_has_the_images_and_labels_of_the_engine():
    case = CASES["lenet5"]
    bench = Bench(CPU, 0.0, rows=2000)
    batch, _ = next(in_engine(case).loader.epoch(0, 256))
    items = training_images(case, bench)
    for place, row in enumerate(batch.rows[0, :5].tolist()):
        x, y = items[row]
        torch.testing.assert_close(x, batch.x[0, place])
        assert y == batch.y[0, place]


def test_an_augmented_image_is_a_window_of_the_padded_one_and_normalised():
    torch.manual_seed(0)
    x = torch.randint(0, 256, (1, 3, 8, 8), dtype=torch.uint8)
    items = Images(x, torch.zeros(1), Augment(crop=2, flip=True, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7)))
    padded = F.pad(x[0], (2,) * 4) / 255
    windows = [padded[:, top : top + 8, left : left + 8] for top in range(5) for left in range(5)]
    mean, std = (torch.tensor(each)[:, None, None] for each in ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)))
    possible = [(each - mean) / std for window in windows for each in (window, window.flip(-1))]
    drawn = [items[0][0] for _ in range(60)]
    seen = [[i for i, each in enumerate(possible) if each.allclose(x, atol=1e-6)] for x in drawn]
    assert all(len(found) == 1 for found in seen)
    assert len({found[0] for found in seen}) > 20


def test_batches_are_shuffled_and_full():
    items = Images(torch.arange(70, dtype=torch.uint8).reshape(70, 1, 1, 1), torch.arange(70), Augment())
    first, second = (y.tolist() for _, y in serve(items, 32, CPU, workers=0))
    assert len(first) == len(second) == len({*first, *second}) / 2 == 32
    assert first != sorted(first)


@pytest.mark.parametrize(
    ("method", "workers"),
    [("ce", 0), ("ce", 1), ("gce", 0), ("logistic_normal", 0), ("co_teaching", 0), ("causal_nl", 0)],
)
def test_the_loop_has_a_rate(method, workers):
    rate, _ = plain_rate(SMALL, Named(method), Bench(CPU, 0.01, rows=2000), workers)
    assert 0 < rate < math.inf


def test_another_method_is_the_one_of_that_name_with_its_settings():
    made = learner(SMALL, Named("gce", {"q": 0.3}), 100, (1, 28, 28), 10)
    x, y = torch.rand(4, 1, 28, 28), torch.tensor([1, 2, 3, 4])
    p = made.networks["net"](x).softmax(-1)[range(4), y]
    torch.testing.assert_close(made(x, y), ((1 - p**0.3) / 0.3).mean())


def test_a_method_of_several_stages_is_in_its_last():
    made = learner(SMALL, Named("f_divergence"), 100, (1, 28, 28), 10)
    assert made.stage.name == made.stages[-1] == "divergence"
