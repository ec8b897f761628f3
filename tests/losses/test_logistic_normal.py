import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap
from torch.nn.functional import one_hot

from labelnoise.errors import InputError
from labelnoise.losses.label_logits import label_height, label_residual
from labelnoise.losses.logistic_normal import LogisticNormalLoss, logistic_normal_nll
from labelnoise.losses.normal import COVARIANCES, scale_width

DOUBLE = torch.float64
HALVES = {"tau": 0.5, "lam": 0.5}
A = {"mu": [0.2, -0.1, 0.4], "c": [0.3, -0.5, 0.1], "y": 1, **HALVES}
D = {
    "mu": [1.5, -0.5, 0.0, 0.25, -1.0, 0.1, 0.3, -0.2, 0.6, -0.7],
    "c": [0.9, -0.4, 0.1, 0.0, 0.2, -0.3, 0.5, -0.6, 0.05, 0.15],
    "y": 0,
    "tau": 1.0,
    "lam": 0.1,
}
D_BY_MU = [-303.6082575823839, -159.23779552885998, 27.309448882214998, 25.0, -45.38110223556999, -71.92834664664501]
D_BY_MU += [166.54724441107498, -183.85669329329, 73.6547244411075, -29.035826676677488]
D_BY_C = [-829.9361179612984, -434.51466642460036, 74.49185550338136, 68.2736222055375, -124.11077781538728]
D_BY_C += [-196.1661176279291, 454.3876241635518, -501.5700307847182, 201.1026210449807, -79.42835892043294]
PUBLISHED = {  # case, core loss, density on the simplex, gradients by mu and c
    "A": (
        A,
        (7.84713712792918, -4.605380457961758),
        [-2.8906494030149648, -6.216790223016105, 0.36978353232834504],
        [8.039164217607123, 20.538572649417215, -1.421000153036476],
    ),
    "A0": (
        {**A, "c": [0.0, 0.0, 0.0]},
        (17.441092420119823, 4.988574834228885),
        [0.8, -12.36787256137438, 1.6],
        [0.0, 0.0, 0.0],
    ),
    "B": (
        {**A, "mu": [0.2, -0.1], "c": [0.3, -0.5], "dummy": False},
        (7.659445352150246, 0.018668986550339106),
        [-2.696473329896787, -5.96673142318283],
        [7.152639405316446, 18.559014123710945],
    ),
    "C": (
        {**A, "mu": [0.2, -0.1], "c": [0.3, -0.5], "y": 2, "dummy": False},
        (32.02611148962973, 24.38533512402982),
        [13.241823924017144, 9.248125388000252],
        [12.14746400829836, 7.095658280510169],
    ),
    "D": (
        D,
        (951.5462177093308, 891.8947636063488),
        D_BY_MU,
        D_BY_C,
    ),
}
published_values = pytest.mark.parametrize(
    ("case", "core", "simplex"), [(case, *values) for case, values, *_ in PUBLISHED.values()], ids=PUBLISHED
)
published_gradients = pytest.mark.parametrize(
    ("case", "by_mu", "by_c"), [(case, *gradients) for case, _, *gradients in PUBLISHED.values()], ids=PUBLISHED
)
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


def read(case: dict, dtype: torch.dtype = DOUBLE) -> tuple[Tensor, Tensor, Tensor, dict]:
    settings = {name: value for name, value in case.items() if name not in ("mu", "c", "y")}
    mu, c = (torch.tensor([case[name]], dtype=dtype, requires_grad=True) for name in ("mu", "c"))
    return mu, c, torch.tensor([case["y"]]), settings


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


@published_values
def test_core_losses_are_the_published_ones(case: dict, core: float, simplex: float) -> None:
    mu, c, y, given = read(case)
    loss = logistic_normal_nll(mu, c, y, **given).item() + mu.shape[-1] * math.log(given["lam"])
    assert loss == pytest.approx(core, rel=1e-12)


@published_gradients
@pytest.mark.parametrize(("dtype", "rel"), [(DOUBLE, 1e-11), (torch.float32, 1e-4)])
def test_gradients_are_the_published_ones(case: dict, by_mu: list, by_c: list, dtype: torch.dtype, rel: float) -> None:
    mu, c, y, given = read(case, dtype)
    ours = torch.autograd.grad(logistic_normal_nll(mu, c, y, **given).sum(), (mu, c))
    assert ours[0][0].tolist() == pytest.approx(by_mu, rel=rel)
    assert ours[1][0].tolist() == pytest.approx(by_c, rel=rel)


@published_values
def test_densities_are_the_published_ones(case: dict, core: float, simplex: float) -> None:
    mu, c, y, given = read(case)
    gaussian = LogisticNormalLoss(**given, constants="gaussian")((mu, c), y).item()
    assert gaussian - mu.shape[-1] * math.log(2 * math.pi) / 2 == pytest.approx(core, rel=1e-12)
    assert LogisticNormalLoss(**given, constants="simplex")((mu, c), y).item() == pytest.approx(simplex, rel=1e-10)


@pytest.mark.parametrize(
    ("K", "smoothing", "tau", "constant"),
    [
        (10, 0.01, 1.0, -59.651454),
        (10, 0.01, 0.1, -36.625603),
        (100, 0.01, 0.5, -758.522889),
        (14, 0.10, 0.5, -46.323649),
    ],
)
def test_constants_are_the_published_ones(K: int, smoothing: float, tau: float, constant: float) -> None:
    mu, c, y = normal(1, K), normal(1, K, seed=1), torch.tensor([0])
    full, plain = (LogisticNormalLoss(tau, 1.0, smoothing, constants=name) for name in ("simplex", "none"))
    assert (full((mu, c), y) - plain((mu, c), y)).item() == pytest.approx(constant, rel=1e-6)


@pytest.mark.parametrize(
    ("covariance", "c", "core"),
    [
        ("identity", [], 4.880133490449914),
        ("isotropic", [0.3], 12.436445325749192),
        ("isotropic", [(1.3543552444685272 - 0.5) ** 0.5], 3.570496435605073),  # softplus(0.3) + λ as a scale
        ("diagonal", [0.3, -0.5, 0.1], 7.374384490712343),
    ],
)
def test_other_covariances_have_the_published_losses(covariance: str, c: list[float], core: float) -> None:
    mu, scale, y, given = read({**A, "c": c, "covariance": covariance})
    density = LogisticNormalLoss(**given, constants="gaussian")((mu, scale), y).item()
    assert density - 3 * math.log(2 * math.pi) / 2 == pytest.approx(core, rel=1e-12)


def test_diagonal_covariance_has_the_published_gradients() -> None:
    mu, c, y, given = read({**A, "covariance": "diagonal"})
    by_mu, by_c = torch.autograd.grad(logistic_normal_nll(mu, c, y, **given).sum(), (mu, c))
    assert by_mu[0].tolist() == pytest.approx([0.5745475438, -5.4968322495, 1.53787005], abs=1e-9)
    assert by_c[0].tolist() == pytest.approx([0.900092025, 21.328040251, 0.1509223451], abs=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("dummy", [True, False])
def test_a_perfect_fit_without_spread_costs_nothing(covariance: str, dummy: bool) -> None:
    d = 4 if dummy else 3
    mu = 0.5 * label_height(d + 1, 0.01) * one_hot(torch.arange(3), d).double()
    c = torch.zeros(3, scale_width(covariance, d), dtype=DOUBLE)
    loss = logistic_normal_nll(mu, c, torch.arange(3), **HALVES, covariance=covariance, dummy=dummy)
    assert loss.abs().max() < 1e-20


def test_rescaling_gives_the_published_value() -> None:
    mu, c, y, _ = read(A)
    scaled = logistic_normal_nll(mu / 0.5, c / math.sqrt(0.5), y, tau=1.0, lam=1.0)
    assert scaled.item() == pytest.approx(9.926578669609016, rel=1e-12)
    torch.testing.assert_close(logistic_normal_nll(mu, c, y, **HALVES), scaled, rtol=1e-12, atol=0)


def test_permuted_classes_have_the_published_loss() -> None:
    rng, order = np.random.default_rng(0), [2, 0, 3, 1]
    mu, c = (torch.from_numpy(rng.standard_normal((1, 4))) for _ in range(2))
    for example in ((mu, c, torch.tensor([1])), (mu[:, order], c[:, order], torch.tensor([3]))):
        loss = logistic_normal_nll(*example, **HALVES) + 4 * math.log(0.5)
        assert loss.item() == pytest.approx(20.92747242933289, rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(5)), st.sampled_from(["full", "diagonal"]))
def test_with_a_dummy_class_classes_may_be_renamed(seed: int, order: list[int], covariance: str) -> None:
    mu, c, y = normal(5, 5, seed=seed), normal(5, 5, seed=seed + 1), torch.arange(5)
    renamed = torch.tensor(order).argsort()[y]
    loss = logistic_normal_nll(mu[:, order], c[:, order], renamed, **HALVES, covariance=covariance)
    torch.testing.assert_close(loss, logistic_normal_nll(mu, c, y, **HALVES, covariance=covariance))


@pytest.mark.parametrize(
    ("shares", "best", "s", "loss"),
    [
        ((0.6, 0.4, 0.0, 0.0), (0.9083008782, 0.9083008782, 0.0, 0.0), 1.650020969, -0.8139639465),
        ((0.7, 0.1, 0.1, 0.1), None, 1.142105640, 2.7686962766),
    ],
)
def test_the_best_mu_is_the_share_of_each_label(shares, best, s: float, loss: float) -> None:
    weights, y = torch.tensor(shares, dtype=DOUBLE), torch.arange(4)
    mu, c = normal(1, 4).requires_grad_(), normal(1, 4, seed=1).requires_grad_()
    optimiser = torch.optim.LBFGS([mu, c], max_iter=500, tolerance_change=1e-15, line_search_fn="strong_wolfe")

    def risk() -> Tensor:
        return weights @ logistic_normal_nll(mu.expand(4, 4), c.expand(4, 4), y, **HALVES)

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = risk()
        value.backward()
        return value

    optimiser.step(closure)
    height = 0.5 * label_height(5, 0.01)
    assert (mu[0] / height).tolist() == pytest.approx(shares, abs=1e-5)
    assert c.square().sum().item() == pytest.approx(s, abs=1e-5)
    assert risk().item() + 4 * math.log(0.5) == pytest.approx(loss, abs=1e-9)
    assert best is None or c[0].abs().tolist() == pytest.approx(best, abs=1e-5)


def test_labels_spread_as_the_published_covariance_says() -> None:
    """Of labels with shares (.7, .1, .1, .1), at τ = 0.5: the top eigenvalue is what c follows."""
    shares = torch.tensor([0.7, 0.1, 0.1, 0.1], dtype=DOUBLE)
    logits = -label_residual(torch.zeros(4, 4, dtype=DOUBLE), torch.arange(4), tau=0.5, smoothing=0.01)
    centred = logits - shares @ logits
    eigenvalues = torch.linalg.eigvalsh(centred.T @ (shares[:, None] * centred))
    assert eigenvalues.tolist() == pytest.approx([0, 0.96303962, 0.96303962, 2.69651093], abs=1e-8)


def test_one_step_leaves_a_zero_c_where_it_is_and_moves_mu() -> None:
    mu, c = normal(4, 3).requires_grad_(), torch.zeros(4, 3, dtype=DOUBLE, requires_grad=True)
    optimiser = torch.optim.SGD([mu, c], lr=0.1)
    logistic_normal_nll(mu, c, torch.tensor([0, 1, 2, 0]), **HALVES).mean().backward()
    optimiser.step()
    assert not c.any()
    assert not torch.equal(mu, normal(4, 3))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("dummy", [True, False])
@pytest.mark.parametrize("soft", [True, False])
def test_gradients_are_those_of_the_value(covariance: str, dummy: bool, soft: bool) -> None:
    d = 4 if dummy else 3
    mu, c = normal(3, d).requires_grad_(), normal(3, scale_width(covariance, d), seed=1).requires_grad_()
    y = normal(3, 4, seed=2).softmax(-1) if soft else torch.tensor([0, 2, 3])
    assert torch.autograd.gradcheck(
        lambda *law: logistic_normal_nll(*law, y, **HALVES, covariance=covariance, dummy=dummy), (mu, c)
    )


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("dummy", [True, False])
def test_mapped_over_runs_equals_the_loop(covariance: str, dummy: bool) -> None:
    d, values = 4 if dummy else 3, torch.tensor([0.1, 0.5, 1.0], dtype=DOUBLE)
    mu, c = normal(3, 5, d), normal(3, 5, scale_width(covariance, d), seed=1)
    y = torch.arange(15).view(3, 5) % 4

    def loss(mu: Tensor, c: Tensor, y: Tensor, tau: Tensor | float, lam: Tensor | float) -> Tensor:
        return logistic_normal_nll(mu, c, y, tau=tau, lam=lam, covariance=covariance, dummy=dummy)

    floats = values.tolist()
    looped = [loss(*run) for run in zip(mu, c, y, floats, floats[::-1], strict=True)]
    torch.testing.assert_close(vmap(loss)(mu, c, y, values, values.flip(0)), torch.stack(looped), rtol=1e-12, atol=0)


@every_dtype
@pytest.mark.parametrize("K", [2, 10, 1000, 20_000])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_extreme_outputs_stay_finite(covariance: str, K: int, dtype: torch.dtype) -> None:
    steps = torch.arange(6)[:, None] + torch.arange(K)
    y = torch.arange(6) * 5 % K
    mu, wide = (1e4 * (steps % 3 - 1)).to(dtype), (1e4 * (steps % 5 - 2) / 2).to(dtype)
    for c in (wide, mu, 1e-8 * wide):
        for lam in (1e-3, 0.5, 1e3):
            law = {"tau": 0.5, "lam": lam, "covariance": covariance}
            outputs = [x.clone().requires_grad_() for x in (mu, c[:, : scale_width(covariance, K)])]
            precise = [x.detach().double().requires_grad_() for x in outputs]
            loss = logistic_normal_nll(*outputs, y, **law)
            assert loss.dtype == torch.float32
            assert loss.isfinite().all()
            gradients = torch.autograd.grad(loss.sum(), outputs, materialize_grads=True)
            true = torch.autograd.grad(logistic_normal_nll(*precise, y, **law).sum(), precise, materialize_grads=True)
            for mine, exact in zip(gradients, true, strict=True):
                assert mine[exact.abs() < torch.finfo(dtype).max].isfinite().all()


def test_autocast_does_not_coarsen_the_loss() -> None:
    mu, c, y, given = read(D, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = logistic_normal_nll(mu, c, y, **given)
        gradients = torch.autograd.grad(inside.sum(), (mu, c))
    outside = logistic_normal_nll(mu, c, y, **given)
    assert torch.equal(inside, outside)
    assert all(map(torch.equal, gradients, torch.autograd.grad(outside.sum(), (mu, c))))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 0.0}, "temperature must be a number above 0, not 0.0"),
        ({"lam": 1e-4}, "floor must be a number of at least 0.001, not 0.0001"),
        ({"smoothing": 0.0}, "smoothing must be above 0 and below 1, not 0.0"),
        ({"smoothing": 1.0}, "smoothing must be above 0 and below 1, not 1.0"),
        ({"covariance": "dense"}, "unknown covariance 'dense'"),
        ({"constants": "tfp"}, "'none', 'gaussian' or 'simplex', not 'tfp'"),
    ],
)
def test_module_refuses_settings_without_a_likelihood(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LogisticNormalLoss(**given)
