import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from labelnoise.losses.tempered import curvature, tempered_log_softmax

LOGITS = torch.tensor([[2.0, -1.0, 0.5]], dtype=torch.float64)
PUBLISHED = {
    1.1: (0.7496238158, 0.0580729218, 0.1923032624),
    2.0: (0.5096393191, 0.2015246551, 0.2888360258),
    4.0: (0.352491836, 0.3155318768, 0.3319762872),
}


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("normaliser", ["newton", "fixed_point", "bisection"])
@pytest.mark.parametrize(("t", "probs"), PUBLISHED.items())
def test_probabilities_are_the_published_ones(t: float, probs: tuple[float, ...], normaliser: str) -> None:
    assert tempered_log_softmax(LOGITS, t, normaliser)[0].exp().tolist() == pytest.approx(probs, abs=1e-10)


def test_five_fixed_point_steps_sum_to_the_published_number() -> None:
    probs = tempered_log_softmax(LOGITS, 2.0, "fixed_point", 5).exp()
    assert probs.sum().item() == pytest.approx(1.0001226095, abs=1e-10)


def test_temperature_one_is_the_softmax() -> None:
    logits = 10 * normal(20, 7)
    torch.testing.assert_close(tempered_log_softmax(logits, 1.0), logits.log_softmax(-1), rtol=1e-13, atol=1e-13)


def test_temperatures_near_one_tend_to_the_softmax() -> None:
    logits = normal(20, 7)
    for t in (1 - 1e-7, 1 + 1e-7):
        torch.testing.assert_close(tempered_log_softmax(logits, t), logits.log_softmax(-1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("t", [0.5, 1.0, 1.1, 2.0, 4.0])
def test_gradients_pass_the_check(t: float) -> None:
    logits = (0.3 * normal(3, 4)).requires_grad_()  # within the support for t = 0.5, at whose edge there is a corner
    assert torch.autograd.gradcheck(lambda a: tempered_log_softmax(a, t), logits)
    assert torch.autograd.gradgradcheck(lambda a: tempered_log_softmax(a, t), logits)


def test_the_gradient_is_the_exact_one_also_after_few_steps() -> None:
    """∂λ / ∂a is the escort distribution P^t / ΣP^t, of the probabilities as they are."""
    logits = LOGITS.clone().requires_grad_()
    log_probs = tempered_log_softmax(logits, 2.0, "fixed_point", 2)
    (grad,) = torch.autograd.grad(log_probs[0, 1], logits)
    p = log_probs.detach().exp()[0]
    own = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(grad[0], p[1] * (own - p**2 / (p**2).sum()), rtol=1e-12, atol=0)


def test_mapped_over_temperatures_it_equals_the_loop() -> None:
    logits, values = normal(3, 5, 4).requires_grad_(), torch.tensor([0.7, 1.0, 3.0], dtype=torch.float64)
    mapped = vmap(tempered_log_softmax)(logits, values)
    looped = torch.stack([tempered_log_softmax(a, t) for a, t in zip(logits, values.tolist(), strict=True)])
    torch.testing.assert_close(mapped, looped, rtol=1e-12, atol=1e-14)
    by_map, by_loop = (torch.autograd.grad((x**2).sum(), logits)[0] for x in (mapped, looped))
    torch.testing.assert_close(by_map, by_loop, rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(
    a=st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=30),
    t=st.floats(0.5, 6.0),
    shift=st.floats(-100, 100),
)
def test_probabilities_sum_to_one_in_the_order_of_the_logits_and_do_not_move_with_a_shift(a, t, shift) -> None:
    logits = torch.tensor(a, dtype=torch.float64)[None]
    log_probs = tempered_log_softmax(logits, t)
    assert log_probs.exp().sum().item() == pytest.approx(1, abs=1e-9)
    assert (log_probs[0, logits[0].argsort()].diff() >= 0).all()
    moved = tempered_log_softmax(logits + shift, t)
    torch.testing.assert_close(moved.exp(), log_probs.exp(), rtol=1e-6, atol=1e-6)


def test_curvature_of_zero_leaves_a_number_as_it_is() -> None:
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([0.1, 7.3, 1e4], dtype=dtype)
        c = curvature(0.0, x)
        assert torch.equal((c * x).log1p() / c, x)
        assert torch.equal((-c * x).expm1() / c, -x)
