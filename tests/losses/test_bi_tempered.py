import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.losses.bi_tempered import BiTemperedLoss, bi_tempered
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.gce import gce
from labelnoise.losses.tempered import tempered_log_softmax

LOGITS = torch.tensor([[2.0, -1.0, 0.5]] * 3, dtype=torch.float64)
TARGET = torch.arange(3)
PUBLISHED = {
    (0.5, 1.1): (0.0999533772, 1.3496032710, 0.9545218327),
    (0.5, 2.0): (0.3119024458, 0.8418530372, 0.6648136455),
    (0.5, 4.0): (0.5311097634, 0.5950857380, 0.5661825531),
    (0.7, 2.0): (0.4102416694, 1.0718333916, 0.8367635196),
    (0.9, 1.1): (0.2250638880, 2.4178837686, 1.4609380760),
    (1.0, 1.0): (0.2413112967, 3.2413112967, 1.7413112967),
}
GRID = list(itertools.product([0.0, 0.5, 0.9, 1.0, 1.3], [0.7, 1.0, 1.1, 2.0, 4.0]))


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def divergence(labels: Tensor, probs: Tensor, t: float) -> Tensor:
    """The Bregman divergence as the paper writes it, class by class."""

    def log_t(x: Tensor) -> Tensor:
        return (x ** (1 - t) - 1) / (1 - t) if t != 1 else x.log()

    each = labels * (log_t(labels) - log_t(probs)) - (labels ** (2 - t) - probs ** (2 - t)) / (2 - t)
    return each.sum(-1)


@pytest.mark.parametrize("normaliser", ["newton", "fixed_point", "bisection"])
@pytest.mark.parametrize(("t", "losses"), PUBLISHED.items())
def test_values_are_the_published_ones(t: tuple[float, float], losses: tuple[float, ...], normaliser: str) -> None:
    assert bi_tempered(LOGITS, TARGET, *t, normaliser=normaliser).tolist() == pytest.approx(losses, abs=1e-9)


def test_values_after_five_fixed_point_steps_are_the_published_ones() -> None:
    found = bi_tempered(LOGITS, TARGET, 0.5, 2.0, normaliser="fixed_point", iterations=5)
    assert found.tolist() == pytest.approx((0.3118656017, 0.8419035284, 0.6648434466), abs=1e-9)


def test_gradient_is_the_published_one() -> None:
    logits = LOGITS.clone().requires_grad_()
    (grad,) = torch.autograd.grad(bi_tempered(logits, TARGET, 0.5, 2.0)[2], logits)
    assert grad[2].tolist() == pytest.approx((0.1223046207, 0.0083625382, -0.1306671589), abs=1e-9)


def test_both_temperatures_one_give_cross_entropy() -> None:
    logits, target = 5 * normal(20, 6), torch.arange(20) % 6
    torch.testing.assert_close(bi_tempered(logits, target, 1.0, 1.0), cross_entropy(logits, target))


@pytest.mark.parametrize("t1", [0.3, 0.5, 0.9])
def test_softmax_gives_generalised_cross_entropy_less_a_spread(t1: float) -> None:
    spread = (1 - (LOGITS.softmax(-1) ** (2 - t1)).sum(-1)) / (2 - t1)
    expected = gce(LOGITS, TARGET, 1 - t1) - spread
    torch.testing.assert_close(bi_tempered(LOGITS, TARGET, t1, 1.0), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("t1", "t2"), GRID)
def test_gradient_is_the_closed_form(t1: float, t2: float) -> None:
    """δ - e Σδ with δ = (P - Y) P^(t2-t1) and the escort e."""
    logits = (0.5 * normal(3, 3)).requires_grad_()
    (grad,) = torch.autograd.grad(bi_tempered(logits, TARGET, t1, t2).sum(), logits)
    p = tempered_log_softmax(logits.detach(), t2).exp()
    delta = (p - torch.eye(3, dtype=torch.float64)) * p ** (t2 - t1)
    escort = p**t2 / (p**t2).sum(-1, keepdim=True)
    torch.testing.assert_close(grad, delta - escort * delta.sum(-1, keepdim=True), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("t1", "t2"), GRID)
def test_gradients_pass_the_check(t1: float, t2: float) -> None:
    logits = (0.5 * normal(3, 3)).requires_grad_()
    labels = torch.tensor([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.4]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a: bi_tempered(a, TARGET, t1, t2, 0.1), logits)
    assert torch.autograd.gradcheck(lambda a: bi_tempered(a, labels, t1, t2), logits)


@pytest.mark.parametrize(("t1", "t2"), GRID)
def test_soft_labels_give_the_divergence_of_the_paper(t1: float, t2: float) -> None:
    labels, logits = normal(5, 4).softmax(-1), 0.5 * normal(5, 4)
    expected = divergence(labels, tempered_log_softmax(logits, t2).exp(), t1)
    torch.testing.assert_close(bi_tempered(logits, labels, t1, t2), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("t1", "t2"), GRID)
def test_one_hot_labels_equal_class_indices(t1: float, t2: float) -> None:
    hard, soft = (bi_tempered(LOGITS / 3, y, t1, t2) for y in (TARGET, F.one_hot(TARGET, 3)))
    torch.testing.assert_close(soft, hard, rtol=1e-11, atol=1e-13)


def test_smoothing_gives_each_other_class_its_share() -> None:
    """K = 10 and 0.1 make 0.9 and nine times 0.0111."""
    logits, target = normal(4, 10), torch.tensor([0, 3, 3, 9])
    labels = torch.full((4, 10), 0.1 / 9, dtype=torch.float64).scatter(1, target[:, None], 0.9)
    torch.testing.assert_close(bi_tempered(logits, target, 0.7, 2.0, 0.1), bi_tempered(logits, labels, 0.7, 2.0))


@settings(max_examples=40, deadline=None)
@given(
    a=st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=20),
    t1=st.floats(0.0, 0.95),
    t2=st.floats(1.0, 5.0),
    label=st.integers(0, 19),
)
def test_below_one_the_loss_lies_between_nothing_and_its_bound(a, t1, t2, label) -> None:
    loss = bi_tempered(torch.tensor([a], dtype=torch.float64), torch.tensor([label % len(a)]), t1, t2).item()
    assert -1e-9 <= loss <= 1 / (1 - t1) + 1e-9


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("classes", [2, 100, 20_000])
@pytest.mark.parametrize(("t1", "t2"), [(0.5, 0.8), (1.0, 1.0), (0.7, 1.1), (0.5, 4.0), (0.9, 2.0)])
def test_extreme_logits_give_numbers(t1: float, t2: float, classes: int, dtype: torch.dtype) -> None:
    extreme = [
        torch.linspace(-1e4, 1e4, classes),
        torch.linspace(1e4, -1e4, classes),
        torch.full((classes,), -1e4),
        F.one_hot(torch.tensor(1), classes) * 2e4 - 1e4,
    ]
    logits = torch.stack(extreme).to(dtype).requires_grad_()
    for smoothing in (0.0, 0.1):
        loss = bi_tempered(logits, torch.zeros(4, dtype=torch.long), t1, t2, smoothing)
        (grad,) = torch.autograd.grad(loss.sum(), logits)
        assert loss.dtype == torch.float32
        assert loss.isfinite().all()
        assert grad.isfinite().all()
        assert (tempered_log_softmax(logits, t2).exp().sum(-1) - 1).abs().max() < 1e-5


def test_mapped_over_temperatures_it_equals_the_loop() -> None:
    t1, t2 = torch.tensor([[0.5, 1.0, 0.7], [1.0, 2.0, 0.8]], dtype=torch.float64)
    logits = (normal(3, 4, 3) / 2).requires_grad_()
    target = torch.tensor([[0, 1, 2, 0]] * 3)
    mapped = vmap(bi_tempered)(logits, target, t1, t2)
    every = zip(logits, target, t1.tolist(), t2.tolist(), strict=True)
    looped = torch.stack([bi_tempered(*each) for each in every])
    torch.testing.assert_close(mapped, looped, rtol=1e-12, atol=1e-14)
    by_map, by_loop = (torch.autograd.grad(x.sum(), logits)[0] for x in (mapped, looped))
    torch.testing.assert_close(by_map, by_loop, rtol=1e-12, atol=1e-14)


def test_module_takes_the_number_of_iterations() -> None:
    module = BiTemperedLoss(0.5, 2.0, iterations=5, reduction="none", normaliser="fixed_point")
    assert module(LOGITS, TARGET).tolist() == pytest.approx((0.3118656017, 0.8419035284, 0.6648434466), abs=1e-9)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"t1": 2.0}, "t1 must be below 2"),
        ({"t2": 0.0}, "t2 must be above 0"),
        ({"smoothing": 1.0}, "smoothing must be"),
        ({"normaliser": "guess"}, "normaliser must be one of"),
    ],
)
def test_module_refuses_settings_without_a_loss(setting: dict[str, float | str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        BiTemperedLoss(**setting)
