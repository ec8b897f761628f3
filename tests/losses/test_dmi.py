import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import grad, vmap

from labelnoise.errors import InputError
from labelnoise.losses.dmi import DMILoss, dmi


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


INPUTS = double([0.4, 0.35, 0.25])
POSTERIOR = double([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
PREDICTED = double([[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.2, 0.2, 0.6]])
T = double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
CLEAN = INPUTS[:, None] * POSTERIOR  # as soft labels their sum with the predictions is the population's joint

PROBS = double([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
TARGET = torch.tensor([0, 0, 1, 2])


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def value_and_gradient(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    logits = logits.clone().requires_grad_()
    loss = dmi(logits, target, logits.shape[-1])
    return loss.detach(), torch.autograd.grad(loss, logits)[0]


def test_noise_adds_a_constant_and_leaves_the_gradient() -> None:
    clean, clean_gradient = value_and_gradient(PREDICTED.log(), CLEAN)
    noisy, noisy_gradient = value_and_gradient(PREDICTED.log(), CLEAN @ T)
    assert clean.item() == pytest.approx(6.16581793, abs=1e-8)
    assert noisy.item() == pytest.approx(7.05741605, abs=1e-8)
    assert (noisy - clean).item() == pytest.approx(-math.log(0.41), abs=1e-12)
    torch.testing.assert_close(noisy_gradient, clean_gradient, rtol=1e-12, atol=1e-14)


def test_value_of_a_batch_is_the_published_one_but_for_the_added_thousandth() -> None:
    determinant = math.exp(-dmi(PROBS.log(), TARGET, 3).item())
    assert determinant == pytest.approx(0.49, abs=1e-12)
    assert -math.log(determinant + 0.001) == pytest.approx(0.71131115, abs=1e-8)
    assert -math.log(determinant / 4**3 + 0.001) == pytest.approx(4.74947368, abs=1e-8)  # divided by the batch size


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8))
def test_any_noise_on_the_labels_shifts_the_loss_by_its_log_determinant(seed: int, K: int) -> None:
    logits, labels = normal(60, K, seed=seed), normal(60, K, seed=seed + 1).softmax(-1)
    noise = 0.5 * torch.eye(K, dtype=torch.float64) + 0.5 * normal(K, K, seed=seed + 2).softmax(-1)
    shift = dmi(logits, labels @ noise, K) - dmi(logits, labels, K)
    assert shift.item() == pytest.approx(-torch.linalg.det(noise).log().item(), abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_relabelled_predictions_have_the_same_loss(seed: int) -> None:
    logits = normal(30, 4, seed=seed)
    target = torch.arange(30) % 4
    assert dmi(logits.flip(1), target, 4).item() == pytest.approx(dmi(logits, target, 4).item(), abs=1e-9)


def test_gradient_is_that_of_the_value() -> None:
    logits, target = normal(9, 3).requires_grad_(), torch.arange(9) % 3
    assert torch.autograd.gradcheck(lambda z: dmi(z, target, 3), logits)


@pytest.mark.parametrize(
    ("logits", "target"),
    [
        (normal(6, 3), torch.tensor([0, 0, 1, 1, 0, 1])),  # without the third class
        (double([[0.3, -1.0, 0.7]] * 6), torch.arange(6) % 3),  # the same prediction for every input
        (normal(1, 10).expand(256, 10), normal(256, 10, seed=1).softmax(-1)),  # the same but for rounding
        (torch.zeros(6, 3, dtype=torch.float64), torch.arange(6) % 3),
        (normal(2, 3), torch.tensor([0, 1])),  # fewer examples than classes
    ],
    ids=["class absent", "constant", "constant, soft labels", "uniform", "small batch"],
)
def test_a_batch_without_information_has_no_loss_and_no_gradient(logits: Tensor, target: Tensor) -> None:
    value, gradient = value_and_gradient(logits, target)
    assert value == 0
    assert torch.equal(gradient, torch.zeros_like(logits))


def test_predictions_of_a_new_network_have_a_gradient_though_their_determinant_is_tiny() -> None:
    """About 1e-20 of what it could be: singular to the official sum with 0.001, not to the pivots."""
    logits, target = 0.01 * normal(100, 10), torch.arange(100) % 10
    value, gradient = value_and_gradient(logits, target)
    assert value > 20
    assert gradient.abs().max() > 0.1


def test_runs_of_a_pack_are_each_singular_or_not() -> None:
    logits = normal(2, 6, 3)
    targets = torch.stack([torch.arange(6) % 3, torch.zeros(6, dtype=torch.int64)])
    mapped = vmap(lambda z, y: dmi(z, y, 3))(logits, targets)
    gradients = vmap(grad(lambda z, y: dmi(z, y, 3)))(logits, targets)
    value, gradient = value_and_gradient(logits[0], targets[0])
    assert mapped.tolist() == pytest.approx([value.item(), 0], abs=1e-12)
    torch.testing.assert_close(gradients[0], gradient, rtol=1e-10, atol=1e-12)
    assert torch.equal(gradients[1], torch.zeros(6, 3, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("K", [2, 10, 1000])
def test_extreme_logits_give_finite_values_and_gradients(K: int, dtype: torch.dtype) -> None:
    target = torch.arange(K + 6) % K
    for logits in (1e4 * normal(K + 6, K).sign(), 1e4 * (2 * torch.eye(K)[target] - 1), 5 * normal(K + 6, K)):
        value, gradient = value_and_gradient(logits.to(dtype), target)
        assert value.dtype == torch.float32
        assert value.isfinite()
        assert gradient.isfinite().all()


def test_module_equals_function() -> None:
    assert torch.equal(DMILoss(3)(PROBS.log(), TARGET), dmi(PROBS.log(), TARGET, 3))


def test_module_refuses_logits_of_other_classes() -> None:
    with pytest.raises(InputError, match="for 4 classes, but the logits have 3"):
        DMILoss(4)(PROBS.log(), TARGET)
