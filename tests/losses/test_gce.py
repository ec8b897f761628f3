import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.gce import GCELoss, gce, truncated_gce

LOGITS = torch.tensor([[2.0, -1.0, 0.5]] * 3, dtype=torch.float64)
TARGET = torch.arange(3)

PUBLISHED = {
    1e-6: (0.2413112675, 3.2413060436, 1.7413097806),
    0.1: (0.2384230187, 2.7684459096, 1.5981328297),
    0.3: (0.2327836427, 2.0727439006, 1.3563355651),
    0.5: (0.2273217612, 1.6044620207, 1.1626460912),
    0.7: (0.2220310944, 1.2808228087, 1.0063574198),
    0.9: (0.2169055994, 1.0510155712, 0.8792970412),
    1.0: (0.2144029654, 0.9608874267, 0.8247096079),
}


@pytest.mark.parametrize(("q", "values"), PUBLISHED.items())
def test_values_are_the_published_ones(q: float, values: tuple[float, ...]) -> None:
    assert gce(LOGITS, TARGET, q).tolist() == pytest.approx(values, abs=1e-9)


def test_gradient_is_the_published_one() -> None:
    logits = LOGITS[:1].clone().requires_grad_()
    (grad,) = torch.autograd.grad(gce(logits, torch.tensor([2]), 0.7).sum(), logits)
    assert grad[0].tolist() == pytest.approx([0.2321830513, 0.0115597134, -0.2437427647], abs=1e-10)


def test_small_q_tends_to_cross_entropy() -> None:
    torch.testing.assert_close(gce(LOGITS, TARGET, 1e-9), cross_entropy(LOGITS, TARGET), rtol=1e-7, atol=0)


def test_q_of_one_is_one_minus_p() -> None:
    torch.testing.assert_close(gce(LOGITS, TARGET, 1.0), 1 - LOGITS.softmax(-1).diagonal(), rtol=1e-14, atol=0)


def test_gradient_goes_on_below_the_usual_clip() -> None:
    logits = torch.tensor([[20.0, 0.0]], dtype=torch.float64, requires_grad=True)  # p = 2e-9
    (grad,) = torch.autograd.grad(gce(logits, torch.tensor([1]), 0.1).sum(), logits)
    other, p = logits.detach().softmax(-1)[0].tolist()
    assert grad[0].tolist() == pytest.approx([p**0.1 * other, p**0.1 * (p - 1)], rel=1e-12)


@pytest.mark.parametrize("q", [0.0, -0.5, 1.5])
def test_module_refuses_q_outside_its_range(q: float) -> None:
    with pytest.raises(InputError, match="q must be above 0 and at most 1"):
        GCELoss(q)


def test_truncated_values_are_the_published_ones() -> None:
    """Of three labels with p = 0.79, 0.04 and 0.18 two lie below k = 0.5."""
    level = 0.5491825618964884
    assert truncated_gce(LOGITS, TARGET, 0.7, 0.5).tolist() == pytest.approx([0.2220310944, level, level], abs=1e-9)


def test_a_truncated_example_has_no_gradient_and_another_its_own() -> None:
    logits = LOGITS.clone().requires_grad_()
    (grad,) = torch.autograd.grad(truncated_gce(logits, TARGET, 0.7, 0.5).sum(), logits)
    (whole,) = torch.autograd.grad(gce(logits, TARGET, 0.7).sum(), logits)
    assert torch.equal(grad[0], whole[0])
    assert not grad[1:].any()


def test_truncation_at_next_to_nothing_changes_nothing() -> None:
    torch.testing.assert_close(truncated_gce(LOGITS, TARGET, 0.7, 1e-9), gce(LOGITS, TARGET, 0.7), rtol=0, atol=0)


def test_gradients_pass_the_check() -> None:
    logits = LOGITS.clone().requires_grad_()
    for q in (0.1, 0.7, 1.0):
        assert torch.autograd.gradcheck(lambda a, q=q: gce(a, TARGET, q), logits)
        assert torch.autograd.gradcheck(lambda a, q=q: truncated_gce(a, TARGET, q, 0.3), logits)


def test_truncation_mapped_over_levels_equals_the_loop() -> None:
    q, k = torch.tensor([[0.1, 0.7, 1.0], [0.1, 0.5, 0.9]], dtype=torch.float64)
    mapped = vmap(lambda q, k: truncated_gce(LOGITS, TARGET, q, k))(q, k)
    looped = [truncated_gce(LOGITS, TARGET, *each) for each in zip(q.tolist(), k.tolist(), strict=True)]
    torch.testing.assert_close(mapped, torch.stack(looped), rtol=1e-13, atol=0)


@settings(max_examples=40, deadline=None)
@given(a=st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3), q=st.floats(0.05, 1.0), k=st.floats(0.01, 0.99))
def test_the_truncated_loss_is_the_lesser_of_the_loss_and_its_level(a: list[float], q: float, k: float) -> None:
    logits = torch.tensor([a] * 3, dtype=torch.float64)
    level = torch.tensor((1 - k**q) / q, dtype=torch.float64)
    found = truncated_gce(logits, TARGET, q, k)
    torch.testing.assert_close(found, torch.minimum(gce(logits, TARGET, q), level), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_truncated_extreme_logits_give_numbers(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, dtype=dtype, requires_grad=True)
    loss = truncated_gce(logits, TARGET, 0.7, 0.5)
    assert loss.dtype == torch.float32
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), logits)[0].isfinite().all()


def test_module_truncates() -> None:
    found = GCELoss(0.7, "none", truncation=0.5)(LOGITS, TARGET)
    assert torch.equal(found, truncated_gce(LOGITS, TARGET, 0.7, 0.5))


@pytest.mark.parametrize("truncation", [0.0, 1.0])
def test_module_refuses_a_truncation_outside_its_range(truncation: float) -> None:
    with pytest.raises(InputError, match="truncation must lie between 0 and 1"):
        GCELoss(truncation=truncation)
