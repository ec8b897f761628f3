import math

import pytest
import torch
from torch import Tensor, nn

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.heteroscedastic import HeteroscedasticLoss, heteroscedastic_nll, sampled_log_probs
from labelnoise.nets.heads import HeteroscedasticHead


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


LOC, SCALE = double([[2.0, -1.0, 0.5]] * 3), double([[0.7, 0.4, 1.1]] * 3)
TARGET = torch.arange(3)
NOISE = double([[[0.5, -0.2, 0.1]], [[-1.0, 0.3, 0.8]]])  # (S, 1, K)
NO_FACTORS = {"factors": torch.zeros(3, 3, 0, dtype=torch.float64), "factor_noise": torch.zeros(2, 1, 0).double()}
ONE_FACTOR = {"factors": double([[[0.5], [-0.3], [0.2]]] * 3), "factor_noise": double([[[1.5]], [[-0.4]]])}

PUBLISHED = [
    (NO_FACTORS, 1.0, (0.6415916739, 0.0391404217, 0.3192679044), (0.4438031996, 3.2405995425, 1.1417247031)),
    (NO_FACTORS, 0.5, (0.7132615937, 0.0034306573, 0.283307749), (0.3379070342, 5.6750034018, 1.26122152)),
    (ONE_FACTOR, 1.0, (0.6561058149, 0.0370928852, 0.3068012999), (0.4214331999, 3.2943301003, 1.1815549726)),
]
ids = ["diagonal", "tempered", "factor"]


def law(samples: int, batch: int, classes: int, rank: int, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=generator, dtype=torch.float64)

    return {
        "loc": normal(batch, classes),
        "scale": normal(batch, classes).abs(),
        "factors": normal(batch, classes, rank),
        "noise": normal(samples, batch, classes),
        "factor_noise": normal(samples, batch, rank),
    }


def naive_probs(given: dict[str, Tensor], temperature: float) -> Tensor:
    """The mean over draws of softmaxes, one example and one draw at a time."""
    samples, (batch, classes) = len(given["noise"]), given["loc"].shape
    probs = torch.zeros(batch, classes, dtype=torch.float64)
    for s in range(samples):
        for b in range(batch):
            spread = given["scale"][b] * given["noise"][s, b] + given["factors"][b] @ given["factor_noise"][s, b]
            probs[b] += ((given["loc"][b] + spread) / temperature).softmax(-1) / samples
    return probs


@pytest.mark.parametrize(("factors", "temperature", "probs", "losses"), PUBLISHED, ids=ids)
def test_probabilities_are_the_published_ones(
    factors: dict[str, Tensor], temperature: float, probs: tuple[float, ...], losses: tuple[float, ...]
) -> None:
    log_probs = sampled_log_probs(LOC, SCALE, noise=NOISE, temperature=temperature, **factors)
    assert log_probs[0].exp().tolist() == pytest.approx(probs, abs=1e-9)


@pytest.mark.parametrize(("factors", "temperature", "probs", "losses"), PUBLISHED, ids=ids)
def test_likelihoods_are_the_published_ones(
    factors: dict[str, Tensor], temperature: float, probs: tuple[float, ...], losses: tuple[float, ...]
) -> None:
    nll = heteroscedastic_nll(LOC, SCALE, target=TARGET, noise=NOISE, temperature=temperature, **factors)
    assert nll.tolist() == pytest.approx(losses, abs=1e-9)


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [(1.0, (0.5400904403, 0.0458575281, -0.5859479684)), (0.5, (0.9687206634, 0.0111807433, -0.9799014068))],
)
def test_gradient_is_the_published_one(temperature: float, expected: tuple[float, ...]) -> None:
    loc = LOC.clone().requires_grad_()
    nll = heteroscedastic_nll(loc, SCALE, target=TARGET, noise=NOISE, temperature=temperature, **NO_FACTORS)
    assert torch.autograd.grad(nll[2], loc)[0][2].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("samples", [1, 7, 203])
@pytest.mark.parametrize("rank", [0, 2])
def test_probabilities_equal_the_naive_mean_over_draws(samples: int, rank: int) -> None:
    given = law(samples, 2, 4, rank)
    expected = naive_probs(given, 1.3)
    torch.testing.assert_close(sampled_log_probs(**given, temperature=1.3).exp(), expected, rtol=1e-11, atol=0)


def test_likelihood_is_the_log_probability_of_the_label() -> None:
    given, target = law(50, 5, 4, 2), torch.tensor([0, 1, 2, 3, 0])
    log_probs = sampled_log_probs(**given, temperature=0.7)
    nll = heteroscedastic_nll(**given, target=target, temperature=0.7)
    torch.testing.assert_close(nll, -log_probs[torch.arange(5), target], rtol=1e-12, atol=0)


def test_gradients_to_scale_and_factors_pass_the_check() -> None:
    given = law(6, 3, 4, 2)
    noise = {name: given.pop(name) for name in ("noise", "factor_noise")}
    inputs = [value.requires_grad_() for value in given.values()]
    assert torch.autograd.gradcheck(
        lambda *law: heteroscedastic_nll(*law, TARGET, **noise, temperature=1.3), inputs, raise_exception=True
    )


def test_draws_shared_by_the_batch_equal_repeated_ones() -> None:
    given = law(20, 4, 3, 1)
    shared = given | {name: given[name][:, :1] for name in ("noise", "factor_noise")}
    repeated = given | {name: shared[name].expand(-1, 4, -1) for name in ("noise", "factor_noise")}
    target = torch.tensor([0, 1, 2, 0])
    for function, label in ((sampled_log_probs, {}), (heteroscedastic_nll, {"target": target})):
        torch.testing.assert_close(
            function(**shared, **label, temperature=1.0), function(**repeated, **label, temperature=1.0)
        )


@pytest.mark.parametrize(("spread", "tolerance"), [(0.1, 1e-2), (0.01, 1e-3), (0.001, 1e-4)])
def test_a_vanishing_spread_tends_to_cross_entropy(spread: float, tolerance: float) -> None:
    normals = torch.randn(4000, 1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    nothing = torch.zeros(4000, 1, 0, dtype=torch.float64)
    nll = heteroscedastic_nll(
        LOC, 0 * SCALE + spread, NO_FACTORS["factors"], TARGET, noise=normals, factor_noise=nothing, temperature=1.0
    )
    torch.testing.assert_close(nll, cross_entropy(LOC, TARGET), rtol=0, atol=tolerance)


def test_gradient_goes_on_where_a_clipped_mean_would_stop() -> None:
    loc = double([[30.0, 0.0]]).requires_grad_()
    nll = heteroscedastic_nll(
        loc,
        torch.full((1, 2), 1e-3).double(),
        torch.zeros(1, 2, 0).double(),
        torch.tensor([1]),
        noise=torch.zeros(3, 1, 2).double(),
        factor_noise=torch.zeros(3, 1, 0).double(),
        temperature=1.0,
    )
    assert torch.autograd.grad(nll.sum(), loc)[0][0].tolist() == pytest.approx([1.0, -1.0], abs=1e-9)


def test_module_draws_afresh_at_every_call() -> None:
    module = HeteroscedasticLoss(samples=3)
    output = (LOC, SCALE, NO_FACTORS["factors"])
    assert module(output, TARGET) != module(output, TARGET)


def test_module_with_many_draws_nears_the_exact_probability() -> None:
    """Of two classes, P(u_0 > u_1) is known: with a small temperature the softmax is a step, u_0 - u_1 ~ N(1, 2)."""
    generator = torch.Generator().manual_seed(0)
    module = HeteroscedasticLoss(temperature=1e-3, samples=40_000, generator=generator)
    output = (double([[1.0, 0.0]]), torch.ones(1, 2).double(), torch.zeros(1, 2, 0).double())
    exact = 0.5 * (1 + math.erf(1 / math.sqrt(2) / math.sqrt(2)))
    assert module(output, torch.tensor([0])).item() == pytest.approx(-math.log(exact), abs=0.01)


def test_the_gradient_to_the_temperature_passes_the_check() -> None:
    given = law(6, 3, 4, 2)
    temperature = double(1.3).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: heteroscedastic_nll(**given, target=TARGET, temperature=t), temperature)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_extreme_laws_give_numbers(dtype: torch.dtype) -> None:
    extreme = torch.tensor([[1e4, -1e4, 0.0]] * 3)
    parts = [part.to(dtype).requires_grad_() for part in (extreme, extreme.abs() + 1e-3, extreme.unsqueeze(-1))]
    noise, factor_noise = torch.tensor([[[1.0, -1.0, 2.0]], [[0.0, 0.5, -2.0]]]), torch.tensor([[[1.0]], [[-1.0]]])
    nll = heteroscedastic_nll(*parts, TARGET, noise=noise, factor_noise=factor_noise, temperature=0.5)
    assert nll.dtype == torch.float32
    assert nll.isfinite().all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(nll.sum(), parts))


def test_module_with_shared_draws_gives_equal_examples_equal_losses() -> None:
    output = (LOC, SCALE, NO_FACTORS["factors"])
    same = torch.zeros(3, dtype=torch.long)
    shared, own = (
        HeteroscedasticLoss(samples=5, reduction="none", shared=each)(output, same) for each in (True, False)
    )
    assert len(set(shared.tolist())) == 1
    assert len(set(own.tolist())) == 3


@pytest.mark.parametrize("factors", [0, 2])
def test_a_head_and_the_module_learn_in_a_loop_of_ones_own(factors: int) -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    x = torch.randn(60, 4, generator=generator) + 3 * torch.eye(3, 4)[y]
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), HeteroscedasticHead(16, classes=3, factors=factors))
    module = HeteroscedasticLoss(samples=200, generator=generator)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        loss = module(net(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert (net(x).loc.argmax(-1) == y).float().mean() > 0.9
