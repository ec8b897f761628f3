import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.stochastic_labels import StochasticLabelLoss, stochastic_cross_entropy

LOGITS = torch.tensor([[2.0, -1.0, 0.5]], dtype=torch.float64)
NOISE = torch.tensor([[0.4, -1.2, 0.3]], dtype=torch.float64)
TARGET = torch.tensor([2])


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_value_is_the_published_one() -> None:
    assert stochastic_cross_entropy(LOGITS, TARGET, NOISE, 0.5).item() == pytest.approx(0.1059834725, abs=1e-10)


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [
        ("true", (0.3891977759, 0.62933443, -1.0185322059)),
        ("tf", (0.5855970346, 0.6391125733, -0.9747096079)),
    ],
)
def test_gradients_are_the_published_ones(gradient: str, expected: tuple[float, ...]) -> None:
    logits = LOGITS.clone().requires_grad_()
    loss = stochastic_cross_entropy(logits, TARGET, NOISE, 0.5, gradient)
    assert torch.autograd.grad(loss.sum(), logits)[0][0].tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("gradient", ["true", "tf"])
def test_without_noise_it_is_cross_entropy(gradient: str) -> None:
    logits, target = 5 * normal(20, 6), torch.arange(20) % 6
    found = stochastic_cross_entropy(logits, target, normal(20, 6, seed=1), 0.0, gradient)
    torch.testing.assert_close(found, cross_entropy(logits, target), rtol=1e-12, atol=1e-12)


def test_soft_labels_are_disturbed_likewise() -> None:
    soft = torch.tensor([[0.2, -0.6, 1.15]], dtype=torch.float64) - 0.5 * NOISE
    assert stochastic_cross_entropy(LOGITS, soft, NOISE, 0.5).item() == pytest.approx(0.1059834725, abs=1e-10)


@pytest.mark.parametrize(("gradient", "factor"), [("true", 8.82), ("tf", 1.0)])
def test_noise_of_the_gradient_has_the_published_variance(gradient: str, factor: float) -> None:
    """On a class of probability 0.99 among ten: σ² (1 - 2p + K p²), or σ²."""
    probs = torch.full((10,), 0.01 / 9, dtype=torch.float64)
    probs[0] = 0.99
    logits = probs.log().repeat(40_000, 1).requires_grad_()
    target, noise = torch.zeros(40_000, dtype=torch.long), normal(40_000, 10)
    (grad,) = torch.autograd.grad(stochastic_cross_entropy(logits, target, noise, 0.5, gradient).sum(), logits)
    assert grad[:, 0].var().item() == pytest.approx(factor * 0.25, rel=0.04)


@pytest.mark.parametrize("gradient", ["true", "tf"])
def test_gradients_pass_the_check(gradient: str) -> None:
    logits = normal(4, 3).requires_grad_()
    target, noise = torch.tensor([0, 1, 2, 1]), normal(4, 3, seed=1)
    assert torch.autograd.gradcheck(lambda a: stochastic_cross_entropy(a, target, noise, 0.7, gradient), logits)


@settings(max_examples=30, deadline=None)
@given(sigma=st.floats(0, 2), seed=st.integers(0, 1000))
def test_the_loss_is_linear_in_the_noise(sigma: float, seed: int) -> None:
    logits, noise, target = normal(3, 4, seed=seed), normal(3, 4, seed=seed + 1), torch.tensor([0, 1, 3])
    both = [stochastic_cross_entropy(logits, target, sign * noise, sigma) for sign in (1, -1)]
    torch.testing.assert_close((both[0] + both[1]) / 2, F.cross_entropy(logits, target, reduction="none"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("gradient", ["true", "tf"])
def test_extreme_logits_give_numbers(gradient: str, dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, dtype=dtype, requires_grad=True)
    loss = stochastic_cross_entropy(logits, torch.arange(3), NOISE.float().expand(3, 3), 1.0, gradient)
    assert loss.dtype == torch.float32
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()


def test_mapped_over_sigmas_it_equals_the_loop() -> None:
    values = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    mapped = vmap(lambda sigma: stochastic_cross_entropy(LOGITS, TARGET, NOISE, sigma))(values)
    looped = torch.stack([stochastic_cross_entropy(LOGITS, TARGET, NOISE, sigma) for sigma in values.tolist()])
    torch.testing.assert_close(mapped, looped, rtol=1e-13, atol=0)


def test_module_draws_afresh_from_its_generator() -> None:
    one, other = (StochasticLabelLoss(0.5, generator=torch.Generator().manual_seed(0)) for _ in range(2))
    first = one(LOGITS, TARGET)
    assert first == other(LOGITS, TARGET)
    assert first != one(LOGITS, TARGET)


@pytest.mark.parametrize(
    ("given", "problem"), [({"sigma": -0.1}, "sigma must be"), ({"gradient": "jax"}, "gradient must be true or tf")]
)
def test_module_refuses_settings_without_a_loss(given: dict[str, float | str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        StochasticLabelLoss(**given)
