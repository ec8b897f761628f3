import math

import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.dmi import DMI
from labelnoise.types import Context

PROBS = torch.tensor([[7, 2, 1], [5, 3, 2], [2, 7, 1], [1, 2, 7]], dtype=torch.float64) / 10


def test_objective_is_the_log_determinant_of_the_joint_counts(table, labelled) -> None:
    loss = DMI().objective({"net": table(PROBS.log())}, labelled([0, 0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx(-math.log(0.49), abs=1e-12)


def test_a_batch_without_a_class_teaches_nothing(table, labelled) -> None:
    net = table(PROBS.log())
    loss = DMI().objective({"net": net}, labelled([0, 0, 1, 1]), Context()).loss
    assert loss.item() == 0
    (gradient,) = torch.autograd.grad(loss, [net.logits], allow_unused=True)
    assert gradient is None or not gradient.any()


def test_it_starts_from_the_best_of_cross_entropy_and_goes_on_slowly() -> None:
    first, second = DMI(warm_up=0.4).stages()
    assert (first.method, first.share, first.carry) == (CE(), 0.4, "best")
    assert (second.optimiser.name, second.optimiser.lr) == ("adam", 1e-4)
    official = build("dmi", {"preset": "official"}).stages()[1].optimiser
    assert (official.name, official.lr, official.momentum, official.weight_decay) == ("sgd", 1e-6, 0.9, 1e-4)


@pytest.mark.parametrize(("classes", "batch"), [(10, 26), (100, 497), (100, 128), (2, 1)])
def test_batches_that_mostly_lack_a_class_are_refused(spec, classes, batch) -> None:
    with pytest.raises(InputError, match=f"most of {batch} rows lack one of {classes}; set train.batch to at least"):
        DMI().networks(spec._replace(classes=classes, batch=batch))


def test_the_least_batch_has_every_class_half_of_the_time(spec) -> None:
    DMI().networks(spec._replace(classes=10, batch=27))
    labels = torch.randint(10, (20_000, 27), generator=torch.Generator().manual_seed(0))
    whole = torch.nn.functional.one_hot(labels, 10).any(1).all(1).float().mean()
    assert 0.5 < whole < 0.58  # above one half, for a class that is there takes up rows


def test_examples_are_compared_within_the_batch() -> None:
    assert DMI().coupled


@pytest.mark.parametrize("settings", [{"warm_up": 0.0}, {"optimiser": "adagrad"}])
def test_settings_that_cannot_be_are_refused(settings) -> None:
    with pytest.raises(InputError):
        DMI(**settings)
