import pytest
import torch

from labelnoise.config import Optimiser, Schedule
from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.reweight import Reweight, weights
from labelnoise.types import Context

T = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]], dtype=torch.float64)
CTX = Context(aux={"T": T})
POSTERIOR = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)


def test_weights_are_the_published_ones_and_make_the_noisy_risk_the_clean_one() -> None:
    beta = weights(POSTERIOR.log().expand(3, 3), torch.arange(3), T)
    assert beta.tolist() == pytest.approx([1.25, 0.810811, 0.666667], abs=1e-6)
    noisy, losses = POSTERIOR @ T, -torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    assert (noisy * beta).sum().item() == pytest.approx(1.0, abs=1e-12)
    assert (noisy * beta * losses).sum().item() == pytest.approx(0.970406, abs=1e-6)
    assert (noisy * losses).sum().item() == pytest.approx(1.053584, abs=1e-6)


def test_each_example_may_have_a_matrix_of_its_own() -> None:
    each = torch.stack([T, torch.eye(3).double()])
    beta = weights(POSTERIOR.log().expand(2, 3), torch.tensor([0, 0]), each)
    assert beta.tolist() == pytest.approx([1.25, 1.0], abs=1e-12)


def test_a_given_label_that_no_class_makes_divides_by_a_small_number() -> None:
    assert weights(POSTERIOR[None].log(), torch.tensor([0]), 0 * T).item() == pytest.approx(0.6e12)


def test_loss_and_gradient_are_the_published_ones_with_a_constant_weight(table, labelled) -> None:
    nets = {"net": table([[1.0, 0.5, -0.5]])}
    loss = Reweight().objective(nets, labelled([1]), CTX).loss
    loss.backward()
    assert loss.item() == pytest.approx(0.946507, abs=1e-6)
    assert nets["net"].logits.grad[0].tolist() == pytest.approx([0.468525, -0.573067, 0.104542], abs=1e-6)


def test_rows_are_examined_for_their_weights(table, labelled) -> None:
    nets = {"net": table([[1.0, 0.5, -0.5]])}
    assert Reweight().examine(nets, labelled([1]), CTX)["weight"].item() == pytest.approx(0.857242, abs=1e-6)


def test_the_network_goes_on_from_the_one_that_t_is_estimated_with() -> None:
    first, second = Reweight(warm_up=0.4).stages()
    assert (first.method, first.share, first.carry) == (CE(), 0.4, "best")
    assert (second.restart, second.share) == ((), 0.6)
    assert (first.optimiser, second.optimiser) == (None, None)


def test_a_known_matrix_needs_one_stage() -> None:
    (only,) = build("reweight", {"matrix": "symmetric", "alpha": 0.3}).stages()
    assert only.share == 1.0


def test_the_official_preset_has_the_sgd_and_the_epochs_of_public_code() -> None:
    first, second = build("reweight", {"preset": "official"}).stages()
    assert (first.share, second.share) == pytest.approx((20 / 220, 200 / 220))
    assert (first.optimiser, first.schedule) == (Optimiser("sgd", lr=0.01, weight_decay=1e-4), Schedule())
    assert second.optimiser == Optimiser("sgd", lr=0.01, momentum=0.9, weight_decay=1e-4)
    assert second.schedule == Schedule("step", (40, 80), 0.1)


def test_an_unknown_optimiser_is_refused() -> None:
    with pytest.raises(InputError, match="optimiser must be run or official, not 'adam'"):
        Reweight(optimiser="adam")
