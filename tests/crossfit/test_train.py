from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from labelnoise.config import Optimiser, Train
from labelnoise.crossfit.cut import cut
from labelnoise.crossfit.train import Plan, crossfit, suited
from labelnoise.data.dataset import Dataset
from labelnoise.data.pictures import Pictures
from labelnoise.errors import InputError
from labelnoise.methods.notation import from_text
from labelnoise.sweep.run import Display

CPU = torch.device("cpu")


def blobs(rows=90, classes=3):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(rows) % classes
    x = 4.0 * nn.functional.one_hot(y, classes) + torch.randn(rows, classes, generator=generator)
    return Dataset.from_arrays(x, y)


def plan_for(dataset, folds=3, net="mlp", settings=None, **train):
    wanted = Train(**{"epochs": 12, "batch": 16, "optimiser": Optimiser(lr=0.01)} | train)
    settings = {"widths": "16"} if settings is None else settings
    return Plan(dataset, cut(dataset.y_given, folds, 0), net, settings, wanted, 0, CPU)


@pytest.mark.parametrize("method", ["ce", "forward", "co_teaching"])
def test_rows_left_aside_are_predicted_well_where_classes_lie_apart(method):
    dataset = blobs()
    found = crossfit(from_text(method), plan_for(dataset))
    assert (found.probs.argmax(1) == dataset.y_given).float().mean() > 0.9
    torch.testing.assert_close(found.probs.sum(1), torch.ones(90))


def test_a_row_s_own_label_does_not_reach_its_prediction():
    dataset = blobs()
    wrong = dataset.y_given.clone()
    wrong[7] = (wrong[7] + 1) % 3
    plan = plan_for(dataset)
    before = crossfit(from_text("ce"), plan).probs[7]
    after = crossfit(from_text("ce"), replace(plan, dataset=replace(dataset, y_given=wrong))).probs[7]
    assert before.tolist() == after.tolist()


def test_a_wrong_label_has_a_low_margin_while_it_is_learnt():
    dataset = blobs()
    wrong = dataset.y_given.clone()
    wrong[:5] = (wrong[:5] + 1) % 3
    found = crossfit(from_text("gce"), plan_for(replace(dataset, y_given=wrong)))
    assert found.margins[:5].max() < found.margins[5:].median()


def test_margins_that_nobody_wants_are_not_computed():
    plan = plan_for(blobs(), epochs=2)
    without, given = (crossfit(from_text("ce"), plan, margins=wanted) for wanted in (False, True))
    assert without.margins is None
    assert without.probs.tolist() == given.probs.tolist()


def test_networks_of_one_s_own_are_made_by_a_function_with_settings():
    def net(outputs, inputs, width):
        return nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, outputs))

    dataset = blobs()
    found = crossfit(from_text("ce"), plan_for(dataset, net=net, settings={"inputs": 3, "width": 8}))
    assert (found.probs.argmax(1) == dataset.y_given).float().mean() > 0.9


class Branching(nn.Module):
    """Looks at its data, which packed networks cannot."""

    def __init__(self, outputs):
        super().__init__()
        self.linear = nn.Linear(3, outputs)

    def forward(self, x):
        return self.linear(x) if x.mean() > -100 else self.linear(-x)


def dropping(outputs):
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, outputs))


@pytest.mark.parametrize("net", [Branching, dropping])
def test_networks_of_one_s_own_may_branch_and_drop(net):
    plan = plan_for(blobs(), net=net, settings={}, epochs=3)
    first, second = (crossfit(from_text("ce"), plan).probs for _ in range(2))
    assert first.tolist() == second.tolist()


def test_a_network_with_another_number_of_outputs_is_refused():
    with pytest.raises(InputError, match="as many outputs as net is told"):
        crossfit(from_text("ce"), plan_for(blobs(), net=lambda outputs: nn.Linear(3, 7), settings={}))


def test_a_class_of_one_row_and_folds_of_one_class_are_no_obstacle():
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))
    found = crossfit(from_text("gce"), plan_for(Dataset.from_arrays(x, torch.tensor([0, 0, 0, 0, 0, 1])), folds=6))
    assert found.probs.isfinite().all()


def test_a_training_that_breaks_ends_with_a_sentence():
    dataset = blobs()
    huge = replace(dataset, x=dataset.x * 1e30)
    with pytest.raises(InputError, match=r"not finite .* choose another method"):
        crossfit(from_text("ce"), plan_for(huge, optimiser=Optimiser(name="sgd", lr=1e30)))


def test_images_on_disk_are_read_as_they_are_needed(tmp_path):
    names = [f"{row}.png" for row in range(8)]
    for row, name in enumerate(names):
        Image.new("RGB", (8, 8), (255 * (row % 2),) * 3).save(tmp_path / name)
    pictures = Pictures(tmp_path, np.array([name.encode() for name in names]), size=8, resize=8)
    dataset = Dataset("pictures", pictures, torch.arange(8) % 2, None, ("dark", "light"))
    found = crossfit(from_text("ce"), plan_for(dataset, folds=2))
    assert found.probs.argmax(1).tolist() == [0, 1] * 4


def test_who_waits_is_told():
    class Heard(Display):
        begun, ended = (), ()

        def begin(self, name, runs, epochs, done):
            self.begun = (name, runs, epochs, done)

        def end(self, epochs):
            self.ended = (epochs,)

    heard = Heard()
    crossfit(from_text("ce"), plan_for(blobs(), epochs=2), heard)
    assert (heard.begun, heard.ended) == (("ce", 3, 2, 0), (2,))


def test_what_is_asked_for_wins_over_what_suits():
    net, train = suited(blobs(), 90)
    assert (net, suited(blobs(), 90, epochs=7, batch=5)[1].epochs) == ("mlp", 7)
    assert train.epochs <= 100
