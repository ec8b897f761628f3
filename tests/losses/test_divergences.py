import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw
from torch import Tensor
from torch.func import grad, vmap

from labelnoise.errors import InputError
from labelnoise.losses.divergences import DIVERGENCES, Divergence, divergence, jeffrey_conjugate, named


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


INFINITE = math.inf
NAMES = list(DIVERGENCES)
every_divergence = pytest.mark.parametrize("kind", DIVERGENCES.values(), ids=NAMES)

# f(v), f'(v) and f*(f'(v)) at v = 0.5 and at 2
FENCHEL = {
    "total_variation": (0.25, -0.5, -0.5, 0.5, 0.5, 0.5),
    "jensen_shannon": (0.08494952, -0.40546511, -0.28768207, 0.16989904, 0.28768207, 0.40546511),
    "pearson": (0.25, -1, -0.75, 1, 2, 3),
    "kl": (-0.34657359, 0.30685282, 0.5, 1.38629436, 1.69314718, 2),
    "reverse_kl": (0.69314718, -2, -1.69314718, -0.69314718, -0.5, -0.30685282),
    "jeffrey": (0.34657359, -1.69314718, -1.19314718, 0.69314718, 1.19314718, 1.69314718),
    "squared_hellinger": (0.08578644, -0.41421356, -0.29289322, 0.17157288, 0.29289322, 0.41421356),
    "neyman": (0.5, -3, -2, 0.5, 0.75, 1),
}
JOINT, PRODUCT = double([[0.4, 0.1], [0.2, 0.3]]), double([[0.3, 0.2], [0.3, 0.2]])
# D_f of the two, and the variational difference of a function that is not the best
BOUNDS = {
    "total_variation": (0.2, 0.18),
    "jensen_shannon": (0.04429277, 0.04387801),
    "pearson": (0.16666667, 0.165),
    "kl": (0.08630462, 0.08507520),
    "reverse_kl": (0.09287133, 0.09147248),
    "jeffrey": (0.17917595, 0.17754140),
    "squared_hellinger": (0.04454107, 0.04202086),
    "neyman": (0.20833333, 0.20743744),
}
SCALED = ("total_variation", "jensen_shannon", "pearson", "jeffrey")  # 0.9 g*; the others g* - 0.05


def bound(kind: Divergence, P: Tensor, Q: Tensor, g: Tensor) -> Tensor:
    return (P * g).sum() - (Q * kind.conjugate(g)).sum()


def tables(seed: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    p, q = (torch.randn(12, generator=rng, dtype=torch.float64).softmax(-1).reshape(3, 4) for _ in range(2))
    return p, q


@pytest.mark.parametrize(("name", "expected"), FENCHEL.items())
def test_generators_and_conjugates_are_the_published_ones(name: str, expected: tuple[float, ...]) -> None:
    kind = named(name)
    found = [x for v in double([0.5, 2.0]) for x in (kind.f(v), kind.derivative(v), kind.conjugate(kind.derivative(v)))]
    assert torch.stack(found).tolist() == pytest.approx(expected, abs=1e-8)


@every_divergence
@settings(max_examples=50, deadline=None)
@given(v=st.floats(0.01, 20))
def test_conjugate_and_generator_meet_at_the_derivative(kind: Divergence, v: float) -> None:
    x = double(v)
    slope = kind.derivative(x)
    expected = (x * slope - kind.f(x)).item()
    assert kind.conjugate(slope).item() == pytest.approx(expected, rel=1e-8, abs=1e-8)


@every_divergence
@settings(max_examples=50, deadline=None)
@given(v=st.floats(0.01, 20), w=st.floats(0.01, 20))
def test_conjugate_and_generator_add_up_to_no_less_than_the_product(kind: Divergence, v: float, w: float) -> None:
    u = kind.derivative(double(w))
    assert kind.f(double(v)) + kind.conjugate(u) >= u * v - 1e-8 * (1 + abs(u * v))


@every_divergence
@settings(max_examples=50, deadline=None)
@given(v=st.floats(0.05, 20).filter(lambda v: abs(v - 1) > 1e-3))
def test_derivative_is_that_of_the_generator(kind: Divergence, v: float) -> None:
    assert grad(kind.f)(double(v)).item() == pytest.approx(kind.derivative(double(v)).item(), rel=1e-9, abs=1e-9)


@every_divergence
def test_generator_is_zero_at_one(kind: Divergence) -> None:
    assert kind.f(double(1.0)) == 0


@every_divergence
@settings(max_examples=50, deadline=None)
@given(v=st.floats(0, 1))
def test_composed_is_the_conjugate_of_the_activation(kind: Divergence, v: float) -> None:
    x = double(v)
    assert kind.composed(x).item() == pytest.approx(kind.conjugate(kind.activation(x)).item(), abs=1e-12)


@every_divergence
def test_activation_and_composed_increase(kind: Divergence) -> None:
    """A decreasing activation, of which the authors' code has three, teaches the opposite."""
    v = torch.linspace(0, 1, 101, dtype=torch.float64)
    assert (vmap(grad(kind.activation))(v) > 0).all()
    assert (vmap(grad(kind.composed))(v) > 0).all()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("total_variation", 0, 0.38080),
        ("jensen_shannon", 0, 0.37989),
        ("pearson", 0, 1),
        ("kl", 0, 1),
        ("reverse_kl", -1, -0.36788),
        ("jeffrey", 0, 1),
        ("squared_hellinger", 0, 0.63212),
        ("neyman", 0, 0.63212),
    ],
)
def test_activation_has_the_published_range(name: str, low: float, high: float) -> None:
    assert named(name).activation(double([0.0, 1.0])).tolist() == pytest.approx([low, high], abs=5e-6)


@pytest.mark.parametrize(
    ("u", "expected"), [(-5, -2.28094875), (0, 0), (1, 1.33036612), (5, 58.60719828), (20, 1.78482320e8)]
)
def test_conjugate_of_jeffrey_is_the_published_one(u: float, expected: float) -> None:
    assert jeffrey_conjugate(double(u)).item() == pytest.approx(expected, rel=1e-8, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.floats(-500, 30))
def test_conjugate_of_jeffrey_is_that_by_lambert_and_its_slope_one_over_w(u: float) -> None:
    w = float(lambertw(math.exp(1 - u)).real)
    assert jeffrey_conjugate(double(u)).item() == pytest.approx(1 / w - 1 - math.log(w), rel=1e-11, abs=1e-11)
    assert grad(jeffrey_conjugate)(double(u)).item() == pytest.approx(1 / w, rel=1e-11)


def test_conjugate_of_jeffrey_passes_the_gradient_check_also_mapped() -> None:
    u = torch.linspace(-4, 4, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(jeffrey_conjugate, u)
    torch.testing.assert_close(vmap(jeffrey_conjugate)(u), jeffrey_conjugate(u), rtol=1e-14, atol=0)


def test_the_usual_jensen_shannon_divergence_is_half_of_ours() -> None:
    middle = (JOINT + PRODUCT) / 2
    usual = ((JOINT * (JOINT / middle).log()).sum() + (PRODUCT * (PRODUCT / middle).log()).sum()) / 2
    assert usual.item() == pytest.approx(0.02214639, abs=1e-8)
    torch.testing.assert_close(divergence(JOINT, PRODUCT, "jensen_shannon"), 2 * usual)


@pytest.mark.parametrize(("name", "expected"), BOUNDS.items())
def test_bound_is_tight_at_the_derivative_and_loose_elsewhere(name: str, expected: tuple[float, float]) -> None:
    kind = named(name)
    best = kind.derivative(JOINT / PRODUCT)
    other = 0.9 * best if name in SCALED else best - 0.05
    assert divergence(JOINT, PRODUCT, name).item() == pytest.approx(expected[0], abs=1e-8)
    assert bound(kind, JOINT, PRODUCT, best).item() == pytest.approx(expected[0], abs=1e-8)
    assert bound(kind, JOINT, PRODUCT, other).item() == pytest.approx(expected[1], abs=1e-8)


@every_divergence
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_divergence_equals_the_best_bound(kind: Divergence, seed: int) -> None:
    p, q = tables(seed)
    expected = bound(kind, p, q, kind.derivative(p / q)).item()
    assert divergence(p, q, kind.name).item() == pytest.approx(expected, rel=1e-8, abs=1e-10)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_divergences_are_their_textbook_sums(seed: int) -> None:
    p, q = tables(seed)
    middle = (p + q) / 2
    expected = {
        "total_variation": (p - q).abs().sum() / 2,
        "jensen_shannon": (p * (p / middle).log() + q * (q / middle).log()).sum(),
        "pearson": ((p - q) ** 2 / q).sum(),
        "kl": (p * (p / q).log()).sum(),
        "reverse_kl": (q * (q / p).log()).sum(),
        "jeffrey": ((p - q) * (p / q).log()).sum(),
        "squared_hellinger": ((p.sqrt() - q.sqrt()) ** 2).sum(),
        "neyman": ((p - q) ** 2 / p).sum(),
    }
    assert list(expected) == NAMES
    for name, value in expected.items():
        assert divergence(p, q, name).item() == pytest.approx(value.item(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    list(zip(NAMES, [0.9, 1.051195, 9, 2.302585, INFINITE, INFINITE, 1.367544, INFINITE], strict=True)),
)
def test_divergence_of_a_perfect_classifier_of_ten_classes_is_the_published_one(name: str, expected: float) -> None:
    joint = torch.eye(10, dtype=torch.float64) / 10
    assert divergence(joint, torch.full((10, 10), 0.01), name).item() == pytest.approx(expected, abs=1e-6)


# of the tables (0, 1, 0) and (1, 0, 0): f(0), and the limit of f(v) / v
LIMITS = {
    "total_variation": (0.5, 0.5),
    "jensen_shannon": (math.log(2), math.log(2)),
    "pearson": (1, INFINITE),
    "kl": (0, INFINITE),
    "reverse_kl": (INFINITE, 0),
    "jeffrey": (INFINITE, INFINITE),
    "squared_hellinger": (1, 1),
    "neyman": (INFINITE, 1),
}


@pytest.mark.parametrize(("name", "limits"), LIMITS.items())
def test_empty_cells_count_with_their_limits(name: str, limits: tuple[float, float]) -> None:
    """Half of q falls where p is 0, half of p where q is 0; the cells of both add f(1) = 0."""
    empty_p = divergence([0.0, 1.0, 0.0], [0.5, 0.5, 0.0], name).item()
    empty_q = divergence([0.5, 0.5, 0.0], [0.0, 1.0, 0.0], name).item()
    f = named(name).f
    assert empty_p == pytest.approx(0.5 * limits[0] + 0.5 * f(double(2.0)).item(), abs=1e-12)
    assert empty_q == pytest.approx(0.5 * limits[1] + f(double(0.5)).item(), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kl", [-0.050796, -0.066927, -0.075073, -0.079186]),
        ("jensen_shannon", [-0.025699, -0.033562, -0.037564, -0.039600]),
        ("pearson", [-0.1, -0.133333, -0.15, -0.158333]),
        ("total_variation", [0, 0, 0, 0]),
    ],
)
def test_bias_by_noise_at_the_best_function_is_of_second_order(name: str, expected: list[float]) -> None:
    """e_- = 0.4 (1 - s) and e_+ = 0.6 (1 - s): the bias over s² tends to a constant as s falls."""
    kind, predicted = named(name), JOINT.sum(1, keepdim=True)
    for s, value in zip((0.4, 0.2, 0.1, 0.05), expected, strict=True):
        e = (1 - s) * double([0.6, 0.4])  # into -1, into +1
        noisy = s * JOINT + predicted * e
        g = kind.derivative(noisy / (predicted * noisy.sum(0)))
        bias = (e * predicted * (g - kind.conjugate(g))).sum()
        assert bias.item() / s**2 == pytest.approx(value, abs=1e-6)


def test_a_misspelt_name_is_told_its_neighbour() -> None:
    with pytest.raises(InputError, match="unknown divergence 'square_hellinger'; did you mean 'squared_hellinger'"):
        divergence(JOINT, PRODUCT, "square_hellinger")


def test_each_divergence_is_filed_under_its_name() -> None:
    assert [kind.name for kind in DIVERGENCES.values()] == NAMES
