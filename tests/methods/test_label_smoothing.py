import pytest
import torch
from torch.func import vmap
from torch.nn import functional as F

from labelnoise.errors import InputError
from labelnoise.methods.ce import CE
from labelnoise.methods.label_smoothing import LabelSmoothing
from labelnoise.types import Context

LOGITS = [[2.0, 0.5, -1.0]] * 3


def test_objective_is_the_published_mean(table, labelled) -> None:
    loss = LabelSmoothing(0.3).objective({"net": table(LOGITS)}, labelled([0, 1, 2]), Context()).loss
    assert loss.item() == pytest.approx((0.69131130 + 1.74131130 + 2.79131130) / 3, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.6])
def test_it_is_the_smoothing_of_torch(table, labelled, alpha) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    expected = F.cross_entropy(nets["net"].logits, batch.y, label_smoothing=alpha)
    torch.testing.assert_close(LabelSmoothing(alpha).objective(nets, batch, Context()).loss, expected)


def test_without_smoothing_it_is_cross_entropy(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    smoothed = LabelSmoothing(0.0).objective(nets, batch, Context()).loss
    torch.testing.assert_close(smoothed, CE().objective(nets, batch, Context()).loss)


def test_objective_mapped_over_alpha_equals_the_loop(table, labelled) -> None:
    nets, batch = {"net": table(LOGITS)}, labelled([0, 1, 2])
    values = torch.tensor([-0.2, 0.0, 0.5], dtype=torch.float64)
    mapped = vmap(lambda alpha: LabelSmoothing(alpha).objective(nets, batch, Context()).loss)(values)
    looped = [LabelSmoothing(alpha).objective(nets, batch, Context()).loss for alpha in values.tolist()]
    torch.testing.assert_close(mapped, torch.stack(looped))


def test_an_alpha_of_one_or_more_is_refused() -> None:
    with pytest.raises(InputError, match=r"alpha must be below 1, not 1\.5"):
        LabelSmoothing(1.5)
