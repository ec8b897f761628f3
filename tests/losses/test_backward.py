import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.losses.backward import BackwardLoss, backward_corrected, non_negative
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.noise.matrix import TransitionMatrix, random_redraw, symmetric


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


LOGITS = double([[2.0, 0.5, -1.0]] * 3)
TARGET = torch.arange(3)
POSTERIOR = double([0.6, 0.3, 0.1])
ASYMMETRIC = TransitionMatrix(double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]]))
SYMMETRIC = symmetric(3, 0.2)  # α = 0.3 spread over all classes
CLEAN_RISK = 0.99131130


def grad_of(loss: Tensor, at: Tensor) -> Tensor:
    return torch.autograd.grad(loss.sum(), at)[0]


@pytest.mark.parametrize(
    ("T", "expected"),
    [
        (SYMMETRIC, [-0.40154585, 1.74131130, 3.88416844]),
        (ASYMMETRIC, [-0.05137163, 1.41204300, 3.79009178]),
    ],
    ids=["symmetric", "asymmetric"],
)
def test_values_are_the_published_ones_and_unbiased(T: TransitionMatrix, expected: list[float]) -> None:
    losses = backward_corrected(LOGITS, TARGET, T.inverse())
    assert losses.tolist() == pytest.approx(expected, abs=1e-8)
    assert (POSTERIOR @ T.probs @ losses).item() == pytest.approx(CLEAN_RISK, abs=1e-8)


def test_the_transposed_inverse_would_be_biased() -> None:
    losses = backward_corrected(LOGITS, TARGET, ASYMMETRIC.inverse().T)
    assert (POSTERIOR @ ASYMMETRIC.probs @ losses).item() == pytest.approx(1.03719178, abs=1e-8)


def test_cross_entropy_on_noisy_labels_is_biased() -> None:
    risk = POSTERIOR @ SYMMETRIC.probs @ cross_entropy(LOGITS, TARGET)
    assert risk.item() == pytest.approx(1.21631130, abs=1e-8)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 10))
def test_mean_over_noisy_labels_is_that_of_clean_ones(seed: int, K: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    z, noise, posterior = (torch.randn(n, K, generator=rng, dtype=torch.float64).softmax(-1) for n in (1, K, 1))
    T = TransitionMatrix(0.6 * torch.eye(K, dtype=torch.float64) + 0.4 * noise)
    logits, every = 10 * z.expand(K, K), torch.arange(K)
    noisy = posterior @ T.probs @ backward_corrected(logits, every, T.inverse())
    torch.testing.assert_close(noisy, posterior @ cross_entropy(logits, every), rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_soft_labels_mix_the_losses_of_the_classes(seed: int) -> None:
    soft = torch.rand(3, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    losses = backward_corrected(LOGITS, TARGET, ASYMMETRIC.inverse())
    torch.testing.assert_close(backward_corrected(LOGITS, soft, ASYMMETRIC.inverse()), soft @ losses)


def test_gradients_are_the_published_ones() -> None:
    logits = LOGITS.clone().requires_grad_()
    grad = grad_of(backward_corrected(logits, TARGET, SYMMETRIC.inverse()), logits)
    assert grad[0].tolist() == pytest.approx([-0.50011725, 0.31814754, 0.18196972], abs=1e-8)
    assert grad[2].tolist() == pytest.approx([0.92845418, 0.31814754, -1.24660171], abs=1e-8)


@pytest.mark.parametrize(("margin", "expected"), [(-5.0, 5.631715), (0.0, 0.693147), (5.0, -0.618285)])
def test_loss_of_two_classes_is_that_of_the_figure(margin: float, expected: float) -> None:
    loss = backward_corrected(double([[margin, 0.0]]), TARGET[:1], random_redraw(2, 0.2).inverse())
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("score", "expected"), [(1, 0.265730), (5, -1.415186), (10, -2.857052), (20, -5.714286)])
def test_loss_of_a_confident_network_falls_without_end(score: float, expected: float) -> None:
    loss = BackwardLoss(SYMMETRIC)(double([[score, 0.0, 0.0]]), TARGET[:1])
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("fix", "value", "factor"), [("none", -5.714286, 1.0), ("clamp", 0.0, 0.0), ("negate", 5.714286, -1.0)]
)
def test_a_fix_acts_on_a_negative_mean_and_its_gradient(fix: str, value: float, factor: float) -> None:
    logits = double([[20.0, 0.0, 0.0]]).requires_grad_()
    plain = grad_of(BackwardLoss(SYMMETRIC)(logits, TARGET[:1]), logits)
    loss = BackwardLoss(SYMMETRIC, fix)(logits, TARGET[:1])
    assert loss.item() == pytest.approx(value, abs=1e-6)
    assert torch.equal(grad_of(loss, logits), factor * plain + 0)


@pytest.mark.parametrize("fix", ["clamp", "negate"])
def test_a_fix_acts_on_the_mean_and_not_on_single_examples(fix: str) -> None:
    losses = backward_corrected(LOGITS, TARGET, SYMMETRIC.inverse())
    assert losses.min() < 0 < losses.mean()
    assert torch.equal(BackwardLoss(SYMMETRIC, fix)(LOGITS, TARGET), losses.mean())


@pytest.mark.parametrize(("fix", "expected"), [("none", [-2, 3]), ("clamp", [0, 3]), ("negate", [2, 3])])
def test_each_of_several_runs_is_fixed_by_itself(fix: str, expected: list[float]) -> None:
    assert vmap(lambda mean: non_negative(mean, fix))(double([-2, 3])).tolist() == expected


def test_module_refuses_an_unknown_fix() -> None:
    with pytest.raises(InputError, match="'none', 'clamp' or 'negate', not 'abs'"):
        BackwardLoss(SYMMETRIC, "abs")


@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_module_refuses_a_fix_without_a_mean(reduction: str) -> None:
    with pytest.raises(InputError, match="use reduction 'mean'"):
        BackwardLoss(SYMMETRIC, "clamp", reduction)


def test_module_refuses_a_matrix_without_inverse() -> None:
    with pytest.raises(InputError, match="no usable inverse"):
        BackwardLoss([[0.5, 0.5], [0.5, 0.5]])


def test_inverse_moves_with_the_module_and_is_no_parameter() -> None:
    module = BackwardLoss(ASYMMETRIC)
    assert list(module.state_dict()) == ["T_inverse"]
    assert list(module.parameters()) == []
