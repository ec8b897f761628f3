import math

import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.normalisers import NORMALISERS, check_classes, chosen, log_tempered_exp, newton

T2 = [0.5, 0.9, 1.1, 2.0, 4.0]


def double(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def centred(classes: int, spread: float, rows: int = 50) -> Tensor:
    generator = torch.Generator().manual_seed(classes)
    a = spread * torch.randn(rows, classes, generator=generator, dtype=torch.float64)
    return a - a.amax(-1, keepdim=True)


def total(a: Tensor, lam: Tensor, t: float) -> Tensor:
    """Σ exp_t(a - λ), as the formula is written."""
    return (1 + (1 - t) * (a - lam)).clamp(min=0).pow(1 / (1 - t)).sum(-1)


@pytest.mark.parametrize("t", T2)
@pytest.mark.parametrize("spread", [0.1, 5.0, 1000.0])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_newton_in_ten_steps_leaves_rounding_error(classes: int, spread: float, t: float) -> None:
    a = centred(classes, spread)
    assert (total(a, newton(a, double(t - 1), 10), t) - 1).abs().max() < 1e-12


@pytest.mark.parametrize("t", T2)
@pytest.mark.parametrize("classes", [10, 1000])
def test_ten_steps_are_enough_where_one_class_and_all_others_weigh_the_same(classes: int, t: float) -> None:
    """The hardest logits: one at 0, the others at -gap, for gaps around that point."""
    a = -torch.logspace(-1, 5, 60, dtype=torch.float64)[:, None].repeat(1, classes)
    a[:, 0] = 0
    assert (total(a, newton(a, double(t - 1), 10), t) - 1).abs().max() < 1e-12


@pytest.mark.parametrize("t", T2)
def test_newton_never_overshoots(t: float) -> None:
    a, c = centred(20, 10.0), double(t - 1)
    sums = torch.stack([total(a, newton(a, c, steps), t) for steps in range(6)])
    assert (sums > 1 - 1e-12).all()
    assert (sums.diff(dim=0) < 1e-12).all()


@pytest.mark.parametrize(("name", "values"), [("bisection", T2), ("fixed_point", [1.1, 2.0, 4.0])])
def test_the_others_agree_with_newton(name: str, values: list[float]) -> None:
    a = centred(10, 1.0)
    for t in values:
        found = NORMALISERS[name].find(a, double(t - 1), 100)
        torch.testing.assert_close(found, newton(a, double(t - 1), 20), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("classes", "spread", "least", "most"), [(10, 5.0, 1e-3, 2e-2), (100, 20.0, 0.1, 0.3)])
def test_five_fixed_point_steps_miss_by_what_is_published(
    classes: int, spread: float, least: float, most: float
) -> None:
    a = centred(classes, spread, 2000)
    off = (total(a, NORMALISERS["fixed_point"].find(a, torch.tensor(1.0), 5), 2.0) - 1).abs().max()
    assert least < off < most


@pytest.mark.parametrize("name", NORMALISERS)
def test_equal_logits_have_their_closed_form(name: str) -> None:
    """K P = 1 means 1 + cλ = K^c."""
    a = torch.zeros(1, 7, dtype=torch.float64)
    c = torch.tensor(1.5, dtype=torch.float64)
    assert NORMALISERS[name].find(a, c, 60).item() == pytest.approx((7**1.5 - 1) / 1.5, rel=1e-12)


def test_one_newton_step_is_enough_for_the_softmax() -> None:
    a = centred(10, 5.0)
    found = newton(a, torch.tensor(2.0**-100, dtype=torch.float64), 1)
    torch.testing.assert_close(found, a.logsumexp(-1, True), rtol=1e-13, atol=1e-14)


def test_tempered_exponential_has_its_textbook_values() -> None:
    """exp_2(-3) = 1 / 4, exp_½(-1) = 1 / 4, and exp_½ ends at -2."""
    assert log_tempered_exp(torch.tensor(3.0), torch.tensor(1.0)).item() == pytest.approx(-math.log(4))
    assert log_tempered_exp(torch.tensor(1.0), torch.tensor(-0.5)).item() == pytest.approx(-math.log(4))
    assert log_tempered_exp(torch.tensor(2.5), torch.tensor(-0.5)).item() == -math.inf


def test_an_unknown_normaliser_is_refused() -> None:
    with pytest.raises(InputError, match="newton, fixed_point, bisection"):
        chosen("secant", 2.0)


@pytest.mark.parametrize(("name", "t"), [("fixed_point", 0.5), ("newton", 0.0), ("bisection", -1.0)])
def test_a_temperature_that_a_normaliser_cannot_take_is_refused(name: str, t: float) -> None:
    with pytest.raises(InputError, match="t2 must be above 0"):
        chosen(name, t)


def test_a_tail_too_heavy_for_so_many_classes_is_refused() -> None:
    check_classes(9.0, 20_000)
    with pytest.raises(InputError, match=r"for 20000 classes t2 must be at most 9.1, not 10.0"):
        check_classes(10.0, 20_000)
