import math

import numpy as np
import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.correction import (
    ForwardLoss,
    ReweightLoss,
    forward_corrected,
    importance_weighted,
    mixed_log_probs,
)
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.noise.matrix import TransitionMatrix, symmetric


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


LOGITS = double([[2.0, -1.0, 0.5]] * 3)
TARGET = torch.arange(3)
SPARSE = double([[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.1, 0.0, 0.9]])
FULL = double([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
POSTERIOR = double([0.6, 0.3, 0.1])


def grad_of(loss: Tensor, at: Tensor) -> Tensor:
    return torch.autograd.grad(loss.sum(), at)[0]


def test_forward_values_are_the_published_ones() -> None:
    expected = [0.4369454550, 1.6901155272, 1.7749311142]
    assert forward_corrected(LOGITS, TARGET, SPARSE).tolist() == pytest.approx(expected, abs=1e-10)


def test_forward_gradient_is_the_published_one_though_t_has_zeros() -> None:
    logits = LOGITS[:1].clone().requires_grad_()
    grad = grad_of(forward_corrected(logits, torch.tensor([2]), SPARSE), logits)
    assert grad[0].tolist() == pytest.approx([0.7855970346, -0.0301152112, -0.7554818234], abs=1e-10)


def test_forward_risk_is_least_at_the_clean_posterior() -> None:
    noisy = POSTERIOR @ FULL
    losses = forward_corrected(POSTERIOR.log().expand(3, 3), TARGET, FULL)
    elsewhere = forward_corrected(double([0.5, 0.25, 0.25]).log().expand(3, 3), TARGET, FULL)
    assert losses.tolist() == pytest.approx([0.733969, 0.994252, 1.897120], abs=1e-6)
    assert (noisy @ losses).item() == pytest.approx(1.004747, abs=1e-6)
    assert (noisy @ losses).item() == pytest.approx(-(noisy * noisy.log()).sum().item(), abs=1e-12)
    assert (noisy @ elsewhere).item() == pytest.approx(1.022886, abs=1e-6)


def test_forward_risk_of_asymmetric_noise_is_least_at_the_clean_posterior_as_published() -> None:
    T = double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
    logits = POSTERIOR.log().clone().requires_grad_()
    risk = POSTERIOR @ T @ forward_corrected(logits.expand(3, 3), TARGET, T)
    assert (POSTERIOR @ T).tolist() == pytest.approx([0.515, 0.345, 0.14], abs=1e-12)
    assert (T @ POSTERIOR).tolist() == pytest.approx([0.54, 0.29, 0.155], abs=1e-12)  # the wrong way round: no law
    assert risk.item() == pytest.approx(0.98415656, abs=1e-8)
    assert grad_of(risk, logits).abs().max() < 1e-12
    others = torch.rand(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    risks = torch.stack([POSTERIOR @ T @ forward_corrected(p.log().expand(3, 3), TARGET, T) for p in others])
    assert (risks > risk).all()


def test_t_that_mixed_logits_would_only_scale_them() -> None:
    logits = double([[2.0, 0.5, -1.0]] * 3)
    T = symmetric(3, 0.2).probs
    mixed = cross_entropy(logits @ T, TARGET)
    assert mixed.tolist() == pytest.approx([0.38688977, 1.43688977, 2.48688977], abs=1e-8)
    torch.testing.assert_close(mixed, cross_entropy(0.7 * logits, TARGET), rtol=1e-12, atol=0)
    assert (forward_corrected(logits, TARGET, T) - mixed).abs().min() > 0.04


def test_forward_of_symmetric_noise_has_the_published_values_and_gradients() -> None:
    logits = double([[2.0, 0.5, -1.0]] * 3).requires_grad_()
    losses = forward_corrected(logits, TARGET, symmetric(3, 0.2).probs)
    grad = grad_of(losses, logits)
    assert losses.tolist() == pytest.approx([0.43090919, 1.50191500, 2.06058994], abs=1e-8)
    assert grad[0].tolist() == pytest.approx([-0.18141373, 0.14831923, 0.03309449], abs=1e-8)
    assert grad[2].tolist() == pytest.approx([0.16885624, 0.03767692, -0.20653316], abs=1e-8)


def test_forward_of_symmetric_noise_is_bounded_on_both_sides() -> None:
    logits = torch.tensor([[1e4, 0.0, 0.0]])
    losses = [forward_corrected(logits, torch.tensor([y]), symmetric(3, 0.2).probs).item() for y in (0, 1)]
    assert losses == pytest.approx([0.22314355, 2.30258509], abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e3, 4e3])
def test_identity_makes_every_corrected_loss_cross_entropy(scale: float) -> None:
    eye, expected = torch.eye(3), cross_entropy(scale * LOGITS.float(), TARGET)
    for loss in (
        forward_corrected(scale * LOGITS.float(), TARGET, eye),
        importance_weighted(scale * LOGITS.float(), TARGET, eye, detach=True),
        importance_weighted(scale * LOGITS.float(), TARGET, eye, detach=False),
    ):
        torch.testing.assert_close(loss, expected, rtol=1e-6, atol=0)


def test_a_label_that_cannot_occur_has_a_finite_loss_and_teaches_nothing() -> None:
    never_second = double([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    logits = LOGITS[:1].clone().requires_grad_()
    loss = forward_corrected(logits, torch.tensor([1]), never_second)
    assert loss.isfinite().all()
    assert grad_of(loss, logits).abs().max() < 1e-9


def test_gradient_to_a_matrix_with_zeros_is_finite() -> None:
    matrix = SPARSE.clone().requires_grad_()
    assert grad_of(forward_corrected(LOGITS, TARGET, matrix), matrix).isfinite().all()
    assert grad_of(importance_weighted(LOGITS, TARGET, matrix, detach=False), matrix).isfinite().all()


def test_reweighted_noisy_risk_is_the_clean_risk() -> None:
    """E over noisy labels of p_y / (p @ T)_y · l_y is the sum of p l, whatever T."""
    logits = POSTERIOR.log().expand(3, 3)
    noisy = POSTERIOR @ FULL
    weights = importance_weighted(logits, TARGET, FULL, detach=True) / cross_entropy(logits, TARGET)
    losses = -double([0.5, 0.25, 0.25]).log()
    assert weights.tolist() == pytest.approx([1.25, 0.810811, 0.666667], abs=1e-6)
    assert (noisy @ weights).item() == pytest.approx(1, abs=1e-12)
    assert (noisy @ (weights * losses)).item() == pytest.approx(0.970406, abs=1e-6)


@pytest.mark.parametrize(
    ("detach", "expected"),
    [(True, [0.468525, -0.573067, 0.104542]), (False, [0.200975, -0.275668, 0.074693])],
)
def test_detaching_the_weight_changes_the_gradient_not_the_value(detach: bool, expected: list[float]) -> None:
    logits = double([[1.0, 0.5, -0.5]]).requires_grad_()
    loss = importance_weighted(logits, torch.tensor([1]), FULL, detach=detach)
    assert loss.item() == pytest.approx(0.946507, abs=1e-6)
    assert grad_of(loss, logits)[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_gradient_to_the_matrix_is_in_the_column_of_the_label_alone() -> None:
    matrix = FULL.clone().requires_grad_()
    loss = importance_weighted(double([[1.0, 0.5, -0.5]]), torch.tensor([1]), matrix, detach=False)
    grad = grad_of(loss, matrix)
    assert grad[:, 1].tolist() == pytest.approx([-1.337748, -0.811385, -0.298492], abs=1e-6)
    assert torch.equal(grad[:, [0, 2]], torch.zeros(3, 2, dtype=torch.float64))


@pytest.mark.parametrize(("times", "expected"), [(1, 0.895739), (2, 0.850141)])
def test_loss_with_a_corrected_matrix_is_the_published_one(times: int, expected: float) -> None:
    delta = double([[-0.05, 0.05, 0.0], [0.02, -0.02, 0.0], [0.0, 0.01, -0.01]])
    loss = importance_weighted(double([[1.0, 0.5, -0.5]]), torch.tensor([1]), FULL + times * delta, detach=False)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_weight_is_capped_at_a_million_million() -> None:
    only_third = double([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    loss = importance_weighted(double([[0.0, 0.0, -40.0]]), torch.tensor([0]), only_third, detach=True)
    assert loss.item() == pytest.approx(1e12 * math.log(2), rel=1e-12)  # exp(40) uncapped


def test_mixed_log_probs_are_those_of_the_given_labels() -> None:
    mixed = mixed_log_probs(LOGITS.log_softmax(-1), FULL)
    torch.testing.assert_close(mixed.exp(), LOGITS.softmax(-1) @ FULL, rtol=1e-12, atol=0)
    torch.testing.assert_close(-mixed.diagonal(), forward_corrected(LOGITS, TARGET, FULL), rtol=1e-12, atol=0)


def test_mixed_log_probs_of_an_impossible_label_are_finite() -> None:
    log_probs = torch.tensor([[0.0, -200.0]])
    assert mixed_log_probs(log_probs, torch.eye(2)).isfinite().all()


@pytest.mark.parametrize("loss", [ForwardLoss, ReweightLoss])
@pytest.mark.parametrize("given", [TransitionMatrix(FULL), FULL, FULL.numpy(), FULL.tolist()], ids=type)
def test_module_takes_any_form_of_the_matrix(loss: type[ForwardLoss], given: object) -> None:
    assert torch.equal(loss(given).T, FULL)


@pytest.mark.parametrize("loss", [ForwardLoss, ReweightLoss])
def test_module_refuses_a_matrix_whose_rows_do_not_sum_to_one(loss: type[ForwardLoss]) -> None:
    with pytest.raises(InputError, match="row 0 of T sums to"):
        loss(np.array([[0.8, 0.1], [0.2, 0.8]]))


def test_matrix_moves_with_the_module_and_is_no_parameter() -> None:
    module = ForwardLoss(FULL)
    assert list(module.state_dict()) == ["T"]
    assert list(module.parameters()) == []
