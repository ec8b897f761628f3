import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd.functional import hessian
from torch.distributions import LowRankMultivariateNormal, MultivariateNormal
from torch.func import grad, vmap

from labelnoise.errors import InputError
from labelnoise.losses.normal import COVARIANCES, attenuated, normal_nll, scale_width

DOUBLE = torch.float64
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=DOUBLE)


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def drawn(covariance: str, rows: int = 5, d: int = 4) -> tuple[Tensor, Tensor]:
    return 2 * normal(rows, d), normal(rows, scale_width(covariance, d), seed=1)


def root(c: Tensor, d: int, lam: float, covariance: str) -> Tensor:
    """Σ^½ as a dense matrix (d, d)."""
    eye = torch.eye(d, dtype=DOUBLE)
    if covariance == "identity":
        return eye
    return torch.outer(c, c) + lam * eye if covariance == "full" else eye * (c.square() + lam)


def with_gradients(r: Tensor, c: Tensor, lam: float, covariance: str = "full") -> tuple[Tensor, ...]:
    r, c = r.detach().requires_grad_(), c.detach().requires_grad_()
    loss = normal_nll(r, c, lam, covariance)
    return loss.detach(), *torch.autograd.grad(loss.sum(), (r, c), materialize_grads=True)


def exact(r: list[int], c: list[int], lam: Fraction) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """q and the gradients of ½q + log(1 + s/λ) in whole fractions."""
    s, p = sum(x * x for x in c), sum(x * y for x, y in zip(r, c, strict=True))
    D = lam + s
    w = [(x - y * p / D) / lam for x, y in zip(r, c, strict=True)]
    v = [(x - y * p / D**2) / lam for x, y in zip(w, c, strict=True)]
    by_c = [2 * y / D - p / D**2 * x - p / D * z for x, y, z in zip(w, c, v, strict=True)]
    return sum((x * x for x in w), Fraction()), v, by_c


@every_covariance
@pytest.mark.parametrize(("d", "lam"), [(1, 0.5), (10, 0.1), (100, 0.5), (1000, 1.0)])
def test_value_is_that_of_a_dense_normal(covariance: str, d: int, lam: float) -> None:
    r, c = normal(2, d), normal(2, scale_width(covariance, d), seed=1)
    floor = 0.0 if covariance == "identity" else d * math.log(lam)
    for row in range(2):
        scale = root(c[row], d, lam, covariance)
        density = MultivariateNormal(torch.zeros(d, dtype=DOUBLE), scale @ scale).log_prob(r[row])
        expected = -density - d * math.log(2 * math.pi) / 2 - floor
        torch.testing.assert_close(normal_nll(r, c, lam, covariance)[row], expected, rtol=1e-10, atol=1e-10)


def low_rank(r: Tensor, c: Tensor, lam: float, factor: Tensor) -> Tensor:
    law = LowRankMultivariateNormal(torch.zeros_like(r), (factor * c).unsqueeze(-1), torch.full_like(r, lam**2))
    return -law.log_prob(r) - r.shape[-1] * (math.log(2 * math.pi) / 2 + math.log(lam))


def test_value_and_gradients_are_those_of_a_low_rank_normal() -> None:
    r, c = (x.requires_grad_() for x in drawn("full"))
    factor = (2 * 0.5 + c.square().sum(-1, keepdim=True)).sqrt()  # the low rank is on Σ there, on its root here
    ours, theirs = normal_nll(r, c, 0.5), low_rank(r, c, 0.5, factor)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=0)
    gradients = (torch.autograd.grad(loss.sum(), (r, c)) for loss in (ours, theirs))
    for mine, other in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-11)


def test_a_low_rank_normal_of_c_itself_is_another_law() -> None:
    r, c = drawn("full")
    assert (normal_nll(r, c, 0.5) - low_rank(r, c, 0.5, torch.ones(1, dtype=DOUBLE))).abs().min() > 0.01


def test_closed_forms_of_the_covariance_and_its_inverse_are_right() -> None:
    c, lam, eye = double(0.3, -0.5, 0.1), 0.5, torch.eye(3, dtype=DOUBLE)
    s, dense = c @ c, root(c, 3, lam, "full") @ root(c, 3, lam, "full")
    torch.testing.assert_close(lam**2 * eye + (2 * lam + s) * torch.outer(c, c), dense, rtol=0, atol=1e-15)
    inverse = (eye - (2 * lam + s) / (lam + s) ** 2 * torch.outer(c, c)) / lam**2
    r = normal(1, 3)
    q = 2 * (normal_nll(r, c[None], lam) - torch.log1p(s / lam))
    torch.testing.assert_close(q, (r @ inverse * r).sum(-1), rtol=1e-12, atol=0)


@every_covariance
def test_gradients_to_all_inputs_are_those_of_the_value(covariance: str) -> None:
    r, c = (x.requires_grad_() for x in drawn(covariance))
    lam = torch.tensor(0.7, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *inputs: normal_nll(*inputs, covariance), (r, c, lam))


def test_the_hand_written_gradient_has_the_right_gradient() -> None:
    r, c = (x.requires_grad_() for x in drawn("full", rows=2))
    lam = torch.tensor(0.7, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradgradcheck(normal_nll, (r, c, lam))


def test_gradients_are_the_papers_formulas() -> None:
    (r, c), lam = drawn("full"), 0.5
    _, by_r, by_c = with_gradients(r, c, lam)
    s, p = c.square().sum(-1, keepdim=True), (c * r).sum(-1, keepdim=True)
    D = lam + s
    torch.testing.assert_close(by_r, (r - c * p * (2 * lam + s) / D**2) / lam**2, rtol=1e-12, atol=1e-12)
    a_r, a_c = -p * (2 * lam + s) / (lam**2 * D**2), 2 / D + p**2 * (3 * lam + s) / (lam**2 * D**3)
    torch.testing.assert_close(by_c, a_c * c + a_r * r, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("mapped", [(0, 0), (1, 1), (0, None), (None, 0)])
def test_mapped_gradients_equal_the_loop(mapped: tuple[int | None, int | None]) -> None:
    lams, dims = double(0.1, 0.5, 2.0), (*mapped, 0)
    sizes = {None: (4, 5), 0: (3, 4, 5), 1: (4, 3, 5)}
    inputs = (*(normal(*sizes[dim], seed=seed) for seed, dim in enumerate(mapped)), lams)

    def loss(*inputs: Tensor) -> Tensor:
        return normal_nll(*inputs).sum()

    def one(run: int, inputs: tuple[Tensor, ...]) -> Tensor:
        return loss(*(x if dim is None else x.select(dim, run) for x, dim in zip(inputs, dims, strict=True)))

    inputs = tuple(x.requires_grad_() for x in inputs)
    looped = torch.autograd.grad(sum(one(run, inputs) for run in range(3)), inputs)
    outside = torch.autograd.grad(vmap(loss, dims)(*inputs).sum(), inputs)
    inside = vmap(grad(loss, (0, 1, 2)), dims)(*inputs)
    for dim, expected, ours, also in zip(dims, looped, outside, inside, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
        gathered = also.sum(0) if dim is None else also.movedim(0, dim)
        torch.testing.assert_close(gathered, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0.01, 100), st.sampled_from(COVARIANCES))
def test_value_is_even_in_c(seed: int, d: int, lam: float, covariance: str) -> None:
    r, c = normal(3, d, seed=seed), normal(3, scale_width(covariance, d), seed=seed + 1)
    assert torch.equal(normal_nll(r, c, lam, covariance), normal_nll(r, -c, lam, covariance))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0.05, 20), st.floats(0.05, 20))
def test_only_the_ratio_of_temperature_and_floor_matters(seed: int, d: int, lam: float, tau: float) -> None:
    r, c = normal(3, d, seed=seed), normal(3, d, seed=seed + 1)
    rescaled = normal_nll(r / tau, c / math.sqrt(tau), lam / tau)
    torch.testing.assert_close(normal_nll(r, c, lam), rescaled, rtol=1e-9, atol=1e-12)


def best_c(r: Tensor, lam: float) -> Tensor:
    return (r.norm() - lam).sqrt() * r / r.norm()


def test_at_the_best_c_the_value_and_gradients_are_the_published_ones() -> None:
    r, lam = double(2, -1, 2), 0.5
    c = best_c(r, lam)
    assert c.tolist() == pytest.approx([1.0540925534, -0.5270462767, 1.0540925534], abs=1e-10)
    loss, by_r, by_c = with_gradients(r[None], c[None], lam)
    assert loss.item() + 3 * math.log(lam) == pytest.approx(0.21231792754822, abs=1e-12)
    assert by_r[0].tolist() == pytest.approx([2 / 9, -1 / 9, 2 / 9], abs=1e-12)
    assert by_c[0].tolist() == pytest.approx([0, 0, 0], abs=1e-12)


def test_no_start_finds_a_lower_value_than_the_best_c() -> None:
    r, lam = double(2, -1, 2), 0.5
    for seed in range(5):
        c = normal(3, seed=seed).requires_grad_()
        optimiser = torch.optim.LBFGS([c], max_iter=200, tolerance_change=1e-14, line_search_fn="strong_wolfe")

        def closure(c: Tensor = c, optimiser: torch.optim.LBFGS = optimiser) -> Tensor:
            optimiser.zero_grad()
            loss = normal_nll(r[None], c[None], lam).sum()
            loss.backward()
            return loss

        optimiser.step(closure)
        assert closure().item() + 3 * math.log(lam) == pytest.approx(0.21231792754822, abs=1e-9)
        assert c.abs().tolist() == pytest.approx(best_c(r, lam).abs().tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("length", "lam", "d", "expected"),
    [(3.0, 0.5, 3, 0.21231792754822), (0.3, 0.5, 3, -1.8994415416798358), (7.0, 0.1, 3, -2.15926003693278)],
)
def test_attenuated_values_are_the_published_ones(length: float, lam: float, d: int, expected: float) -> None:
    assert attenuated(double(length), lam)[0].item() + d * math.log(lam) == pytest.approx(expected, abs=1e-12)


def test_attenuated_slopes_are_the_published_ones() -> None:
    lengths = double(0.25, 0.5, 1, 2, 4)
    assert attenuated(lengths, 0.5)[1].tolist() == pytest.approx([1, 2, 1, 0.5, 0.25], abs=1e-14)


@pytest.mark.parametrize("length", [0.2, 0.49, 0.5, 0.51, 3.0, 1000.0])
def test_attenuated_is_the_value_and_slope_at_the_best_c(length: float) -> None:
    r, lam = length * double(2, -1, 2) / 3, 0.5
    c = best_c(r, lam) if length > lam else torch.zeros(3, dtype=DOUBLE)
    loss, by_r, _ = with_gradients(r[None], c[None], lam)
    value, slope = attenuated(double(length), lam)
    torch.testing.assert_close(value, loss, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(slope, by_r.norm()[None], rtol=1e-9, atol=0)


def test_attenuated_has_no_jump_at_the_floor() -> None:
    values, slopes = attenuated(double(0.5 - 1e-9, 0.5 + 1e-9), 0.5)
    assert values.diff().item() == pytest.approx(4e-9, rel=1e-3)
    assert slopes.tolist() == pytest.approx([2, 2], abs=1e-7)


@pytest.mark.parametrize(("length", "smallest"), [(0.3, 2.56), (0.5, 0.0), (0.7, -3.84)])
def test_no_spread_is_best_only_below_the_floor(length: float, smallest: float) -> None:
    r = length * double(2, -1, 2) / 3
    curvature = hessian(lambda c: normal_nll(r[None], c[None], 0.5).sum(), torch.zeros(3, dtype=DOUBLE))
    assert torch.linalg.eigvalsh(curvature).tolist() == pytest.approx([smallest, 4, 4], abs=1e-12)


@pytest.mark.parametrize("r", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_a_single_logit_with_its_best_scale_has_the_published_gradient(r: float) -> None:
    c = math.sqrt(max(r - 0.5, 0))
    published = {0.25: 1, 0.5: 2, 1.0: 1, 2.0: 0.5, 4.0: 0.25}
    for covariance in ("full", "diagonal", "isotropic"):
        _, by_r, _ = with_gradients(double(r)[None], double(c)[None], 0.5, covariance)
        assert by_r.item() == pytest.approx(published[r], abs=1e-12)


def test_derivative_by_a_single_scale_is_the_published_one() -> None:
    _, _, by_c = with_gradients(double(1.3)[None], double(0.7)[None], 0.5)
    assert by_c.item() == pytest.approx(-1.0242822058, abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic"])
def test_gradient_by_c_is_exactly_0_at_0(covariance: str) -> None:
    r, c = drawn(covariance)
    _, _, by_c = with_gradients(r, torch.zeros_like(c), 0.5, covariance)
    assert not by_c.any()


@pytest.mark.parametrize(
    ("lam", "s", "bound"),
    [
        *((0.1, s, 1e-3) for s in (1, 10, 100)),
        *((0.5, s, 1e-3) for s in (10, 100, 500)),
        *((1.0, s, 1e-3) for s in (100, 1000)),
        *((s / 1e4, s, 1e-2) for s in (1000, 5000, 10_000)),
    ],
)
def test_float32_is_precise_where_residuals_lie_along_c(lam: float, s: float, bound: float) -> None:
    u = torch.nn.functional.normalize(normal(50, 100), dim=-1)
    other = normal(50, 100, seed=1)
    other -= (other * u).sum(-1, keepdim=True) * u
    r = u * (lam + s) + 0.1 * lam * torch.nn.functional.normalize(other, dim=-1)  # q is 1.01
    loss = normal_nll(r.float(), (u * math.sqrt(s)).float(), lam)
    q = 2 * (loss.double() - math.log1p(s / lam))
    assert (q - 1.01).abs().max() < bound


def extreme(d: int, kind: str) -> tuple[Tensor, Tensor]:
    steps = torch.arange(6)[:, None] + torch.arange(d)
    r = 1e4 * (steps % 3 - 1)
    return r, {"along": r + 0.0, "all": torch.full((6, d), 1e4), "across": r.roll(1, -1) + 0.0, "small": r * 1e-8}[kind]


@every_dtype
@every_covariance
@pytest.mark.parametrize("d", [1, 2, 10, 1000, 20_000])
def test_extreme_values_stay_finite(d: int, covariance: str, dtype: torch.dtype) -> None:
    for kind in ("along", "all", "across", "small"):
        r, c = extreme(d, kind)
        for lam in (1e-3, 0.5, 1e3):
            inputs = r.to(dtype).float(), c[:, : scale_width(covariance, d)].to(dtype).float()
            loss, *gradients = with_gradients(*inputs, lam, covariance)
            _, *precise = with_gradients(inputs[0].double(), inputs[1].double(), lam, covariance)
            assert loss.isfinite().all()
            for gradient, true in zip(gradients, precise, strict=True):
                reachable = true.abs() < torch.finfo(dtype).max
                assert gradient.to(dtype)[reachable].isfinite().all()


@pytest.mark.parametrize("lam", [Fraction(1, 1024), Fraction(1, 2), Fraction(1024)])
@pytest.mark.parametrize("d", [2, 20_000])
def test_extreme_values_equal_exact_fractions(d: int, lam: Fraction) -> None:
    r, c = [10_000 * ((7 * k) % 3 - 1) for k in range(d)], [10_000 * (-1) ** k for k in range(d)]
    q, *gradients = exact(r, c, lam)
    inputs = torch.tensor([r], dtype=torch.float32), torch.tensor([c], dtype=torch.float32)
    loss, *ours = with_gradients(*inputs, float(lam))
    logarithm = math.log1p(sum(x * x for x in c) / lam)
    assert loss.item() == pytest.approx(float(q) / 2 + logarithm, rel=1e-4)
    for mine, fractions in zip(ours, gradients, strict=True):
        true = torch.tensor([[float(x) for x in fractions]], dtype=DOUBLE)
        assert (mine - true).abs().max() < 1e-4 * true.abs().max()


def test_an_unknown_covariance_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown covariance 'ful'.*full"):
        normal_nll(normal(2, 3), normal(2, 3), 0.5, "ful")


def test_a_scale_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(InputError, match="'diagonal' of 3 logits needs a c of 3 columns, not 1"):
        normal_nll(normal(2, 3), normal(2, 1), 0.5, "diagonal")


@pytest.mark.parametrize(("r", "c", "lam"), [(1e4, 1e4, 0.5), (5.3, 3.0, 1e-3), (7.0, 30.0, 1e-3), (-2.0, 1.5, 0.1)])
def test_a_full_covariance_of_one_logit_is_the_isotropic_one_and_as_precise(r, c, lam) -> None:
    """The gradient of ½ (r / (c² + λ))² + log(1 + c² / λ), in float64."""
    r, c = (torch.tensor([[value]], requires_grad=True) for value in (r, c))
    by_r, by_c = torch.autograd.grad(normal_nll(r, c, lam, "full").sum(), (r, c))
    wide, across = r.double(), c.double()
    scale = across**2 + lam
    torch.testing.assert_close(by_r.double(), wide / scale**2, rtol=1e-5, atol=0)
    exact = -2 * across * wide**2 / scale**3 + 2 * across / scale
    torch.testing.assert_close(by_c.double(), exact, rtol=1e-4, atol=0)
