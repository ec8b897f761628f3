import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.smoothing import (
    LabelSmoothingLoss,
    SmearedLoss,
    at_label,
    forward_smoothed,
    label_smoothed,
    label_weights,
    smeared,
)


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


LOGITS = double([[2.0, 0.5, -1.0]] * 3)
TARGET = torch.arange(3)
ALPHA = 0.3
seeds, classes = st.integers(0, 10_000), st.integers(2, 12)


def smoothing_matrix(K: int, alpha: float) -> Tensor:
    return (1 - alpha) * torch.eye(K, dtype=torch.float64) + alpha / K


def some(seed: int, K: int, B: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, class indices and soft labels."""
    rng = torch.Generator().manual_seed(seed)
    logits, soft = (3 * torch.randn(B, K, generator=rng, dtype=torch.float64) for _ in range(2))
    return logits, torch.randint(K, (B,), generator=rng), soft.softmax(-1)


def grad_of(loss: Tensor, at: Tensor) -> Tensor:
    return torch.autograd.grad(loss.sum(), at)[0]


def test_smoothed_values_are_the_published_ones() -> None:
    expected = [0.69131130, 1.74131130, 2.79131130]
    assert label_smoothed(LOGITS, TARGET, ALPHA).tolist() == pytest.approx(expected, abs=1e-8)


def test_smoothed_gradients_are_the_published_ones() -> None:
    logits = LOGITS.clone().requires_grad_()
    grad = grad_of(label_smoothed(logits, TARGET, ALPHA), logits)
    assert grad[0].tolist() == pytest.approx([-0.01440297, 0.07529039, -0.06088743], abs=1e-8)
    assert grad[2].tolist() == pytest.approx([0.68559703, 0.07529039, -0.76088743], abs=1e-8)


def test_smoothing_is_a_regulariser_in_both_published_forms() -> None:
    losses = -LOGITS[0].log_softmax(-1)
    beta = ALPHA / ((1 - ALPHA) * 3)
    from_uniform = losses.mean() - math.log(3)  # KL(u‖p)
    assert from_uniform.item() == pytest.approx(0.64269901, abs=1e-8)
    smoothed = label_smoothed(LOGITS[:1], TARGET[:1], ALPHA).item()
    assert smoothed == pytest.approx(((1 - ALPHA) * (losses[0] + beta * losses.sum())).item(), abs=1e-12)
    assert smoothed == pytest.approx(((1 - ALPHA) * losses[0] + ALPHA * (from_uniform + math.log(3))).item(), abs=1e-12)


def test_smoothed_loss_is_least_at_the_published_gap() -> None:
    logits = double([[math.log(8), 0.0, 0.0]]).requires_grad_()  # log(1 + L (1 - α) / α)
    loss = label_smoothed(logits, TARGET[:1], ALPHA)
    assert loss.item() == pytest.approx(0.63903186, abs=1e-8)
    assert grad_of(loss, logits).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("margin", "expected"),
    [(-5.0, (5.006715, 4.506715, 2.250427)), (0.0, (0.693147,) * 3), (5.0, (0.006715, 0.506715, 0.111327))],
)
def test_losses_of_two_classes_are_those_of_the_figure(margin: float, expected: tuple[float, ...]) -> None:
    logits, target = double([[margin, 0.0]]), torch.tensor([0])
    losses = [cross_entropy(logits, target)] + [f(logits, target, 0.2) for f in (label_smoothed, forward_smoothed)]
    assert [loss.item() for loss in losses] == pytest.approx(expected, abs=1e-6)


def test_square_loss_on_smoothed_centred_targets_shrinks_the_weights() -> None:
    """The smoothed targets are (1 - α) y + α/L, so W = (1 - α) W*, plus a term that centring takes away."""
    x, target, _ = some(0, 3, B=40)
    smoothed = label_weights(target, smoothing_matrix(3, ALPHA))
    for inputs in (x - x.mean(0), x + 1):
        plain, shrunk = (torch.linalg.lstsq(inputs, y).solution for y in (torch.eye(3).double()[target], smoothed))
        extra = ALPHA / 3 * torch.linalg.lstsq(inputs, torch.ones(40, 3).double()).solution
        torch.testing.assert_close(shrunk, (1 - ALPHA) * plain + extra, rtol=0, atol=1e-12)
    assert extra.abs().max() > 0.01  # of the inputs off the centre
    centred = torch.linalg.lstsq(x - x.mean(0), torch.ones(40, 3).double()).solution
    assert centred.abs().max() < 1e-12


def test_the_regulariser_is_least_without_weights() -> None:
    """Ω(f) = L logsumexp f - Σ f is L times the loss with the whole label spread."""
    logits = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    regulariser = 3 * label_smoothed(logits, TARGET[:1], 1.0)
    assert regulariser.item() == pytest.approx(3.29583687, abs=1e-8)
    assert grad_of(regulariser, logits).abs().max() < 1e-15
    assert (3 * label_smoothed(LOGITS, TARGET, 1.0) > regulariser).all()


@settings(max_examples=50, deadline=None)
@given(seeds, classes, st.floats(0, 1))
def test_smoothing_equals_torch(seed: int, K: int, alpha: float) -> None:
    logits, target, soft = some(seed, K)
    for labels in (target, soft):
        expected = F.cross_entropy(logits, labels, label_smoothing=alpha, reduction="none")
        torch.testing.assert_close(label_smoothed(logits, labels, alpha), expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(seeds, classes, st.floats(-3, 0.9))
def test_smearing_by_the_smoothing_matrix_is_smoothing(seed: int, K: int, alpha: float) -> None:
    logits, target, soft = some(seed, K)
    for labels in (target, soft):
        expected = label_smoothed(logits, labels, alpha)
        torch.testing.assert_close(smeared(logits, labels, smoothing_matrix(K, alpha)), expected, rtol=1e-9, atol=1e-10)


@settings(max_examples=50, deadline=None)
@given(seeds, classes, st.floats(0, 0.9))
def test_smoothing_undone_by_its_negative_twin_is_cross_entropy(seed: int, K: int, alpha: float) -> None:
    logits, target, _ = some(seed, K)
    sharpened = label_smoothed(logits, smoothing_matrix(K, alpha)[target], -alpha / (1 - alpha))
    torch.testing.assert_close(sharpened, cross_entropy(logits, target), rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(seeds, classes)
def test_smearing_equals_the_naive_sum_over_classes(seed: int, K: int) -> None:
    logits, target, _ = some(seed, K)
    M = torch.randn(K, K, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    naive = [sum(-M[y, k] * row.log_softmax(-1)[k] for k in range(K)) for row, y in zip(logits, target, strict=True)]
    torch.testing.assert_close(smeared(logits, target, M), torch.stack(naive), rtol=1e-10, atol=1e-10)


@settings(max_examples=50, deadline=None)
@given(seeds, classes, st.floats(0, 0.99))
def test_forward_equals_the_logarithm_of_the_mixture(seed: int, K: int, alpha: float) -> None:
    logits, target, soft = some(seed, K)
    losses = -((1 - alpha) * logits.softmax(-1) + alpha / K).log()
    torch.testing.assert_close(forward_smoothed(logits, target, alpha), at_label(losses, target), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(forward_smoothed(logits, soft, alpha), (soft * losses).sum(-1), rtol=1e-9, atol=1e-12)


def test_forward_values_and_gradients_are_the_published_ones() -> None:
    logits = LOGITS.clone().requires_grad_()
    losses = forward_smoothed(logits, TARGET, ALPHA)
    grad, plain = grad_of(losses, logits), logits.detach().softmax(-1) - torch.eye(3).double()
    assert losses.tolist() == pytest.approx([0.43090919, 1.50191500, 2.06058994], abs=1e-8)
    assert grad[0].tolist() == pytest.approx([-0.18141373, 0.14831923, 0.03309449], abs=1e-8)
    assert grad[2].tolist() == pytest.approx([0.16885624, 0.03767692, -0.20653316], abs=1e-8)
    assert (grad / plain)[0].tolist() == pytest.approx([0.84613442] * 3, abs=1e-8)
    assert (grad / plain)[2].tolist() == pytest.approx([0.21494001] * 3, abs=1e-8)


def test_forward_is_bounded_on_both_sides() -> None:
    logits = double([[1e4, 0.0, 0.0]] * 2)
    bounds = forward_smoothed(logits, TARGET[:2], ALPHA).tolist()
    assert bounds == pytest.approx([0.22314355, 2.30258509], abs=1e-8)


@pytest.mark.parametrize("loss", [label_smoothed, forward_smoothed])
def test_nothing_spread_is_cross_entropy_with_its_gradient(loss: object) -> None:
    logits = (100 * LOGITS).requires_grad_()
    smoothed, plain = loss(logits, TARGET, 0.0), cross_entropy(logits, TARGET)
    torch.testing.assert_close(smoothed, plain, rtol=1e-14, atol=0)
    torch.testing.assert_close(grad_of(smoothed, logits), grad_of(plain, logits), rtol=1e-12, atol=1e-300)


def test_module_refuses_alpha_of_one() -> None:
    with pytest.raises(InputError, match="alpha must be below 1, not 1"):
        LabelSmoothingLoss(1)


@pytest.mark.parametrize("M", [[[0.9, 0.2], [0.1, 0.9]], [[0.5, 0.5, 0.0]], [1.0], [[math.nan, 1.0], [0.0, 1.0]]])
def test_module_refuses_what_is_no_smearing_matrix(M: object) -> None:
    with pytest.raises(InputError, match="M must be a square matrix whose rows sum to 1"):
        SmearedLoss(M)


def test_matrix_moves_with_the_module_and_is_no_parameter() -> None:
    module = SmearedLoss(smoothing_matrix(3, 0.2))
    assert list(module.state_dict()) == ["M"]
    assert list(module.parameters()) == []
