from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.heteroscedastic import Heteroscedastic
from labelnoise.rng import Rng
from labelnoise.testing import CHECKS
from labelnoise.types import Context, DataSpec

NOISE = torch.tensor([[[0.5, -0.2, 0.1]], [[-1.0, 0.3, 0.8]]], dtype=torch.float64)
PLAIN = {"noise": NOISE, "factor_noise": torch.zeros(2, 1, 0, dtype=torch.float64)}
FACTOR = {"noise": NOISE, "factor_noise": torch.tensor([[[1.5]], [[-0.4]]], dtype=torch.float64)}


class Law(nn.Module):
    """The same law of the logits for every row."""

    def __init__(self, rank: int = 0, spread: float = 1.0) -> None:
        super().__init__()
        self.rank, self.spread = rank, spread

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        loc, scale = torch.tensor([[2.0, -1.0, 0.5], [0.7, 0.4, 1.1]], dtype=torch.float64)
        factors = torch.tensor([[0.5], [-0.3], [0.2]], dtype=torch.float64)[:, : self.rank]
        rows = len(x)
        return loc.expand(rows, 3), self.spread * scale.expand(rows, 3), factors.expand(rows, 3, self.rank)


@pytest.mark.parametrize(
    ("rank", "draws", "temperature", "losses"),
    [
        (0, PLAIN, 1.0, (0.4438031996, 3.2405995425, 1.1417247031)),
        (0, PLAIN, 0.5, (0.3379070342, 5.6750034018, 1.26122152)),
        (1, FACTOR, 1.0, (0.4214331999, 3.2943301003, 1.1815549726)),
    ],
)
def test_objective_is_the_published_mean(labelled, rank, draws, temperature, losses) -> None:
    method = Heteroscedastic(temperature, rank, samples=2)
    loss = method.objective({"net": Law(rank)}, labelled([0, 1, 2]), Context(draws=draws)).loss
    assert loss.item() == pytest.approx(sum(losses) / 3, abs=1e-9)


def test_prediction_is_the_published_mean_over_draws() -> None:
    log_probs = Heteroscedastic().log_probs({"net": Law()}, torch.zeros(2, 4), Context(draws=PLAIN))
    assert log_probs[1].exp().tolist() == pytest.approx([0.6415916739, 0.0391404217, 0.3192679044], abs=1e-9)


def test_no_spread_gives_cross_entropy(labelled, table) -> None:
    batch = labelled([0, 1, 2])
    loss = Heteroscedastic().objective({"net": Law(spread=0.0)}, batch, Context(draws=PLAIN)).loss
    plain = CE().objective({"net": table([[2.0, -1.0, 0.5]] * 3)}, batch, Context()).loss
    torch.testing.assert_close(loss, plain, rtol=1e-14, atol=0)


@pytest.mark.parametrize("rank", [0, 2])
def test_networks_draws_and_objective_fit_together(spec: DataSpec, labelled, rank: int) -> None:
    method, batch = Heteroscedastic(factors=rank, samples=5), labelled([0, 1, 2, 0])
    nets = {name: net.double() for name, net in method.networks(spec).items()}
    draws = method.draws(spec, 4, Rng(0, dtype=torch.float64))
    assert {name: draw.shape for name, draw in draws.items()} == {"noise": (5, 1, 3), "factor_noise": (5, 1, rank)}
    method.objective(nets, batch, Context(draws=draws)).loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in nets["net"].parameters())


def test_one_row_of_draws_predicts_any_number_of_rows(spec: DataSpec) -> None:
    method = Heteroscedastic(factors=1, samples=7)
    nets = {name: net.double() for name, net in method.networks(spec).items()}
    draws = method.draws(spec, 1, Rng(0, dtype=torch.float64))
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    log_probs = method.log_probs(nets, x, Context(draws=draws))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(9).double(), rtol=1e-12, atol=0)
    torch.testing.assert_close(log_probs[3:4], method.log_probs(nets, x[3:4], Context(draws=draws)))


def test_objective_mapped_over_temperatures_equals_the_loop(labelled) -> None:
    values, batch = torch.tensor([0.5, 1.0, 10.0], dtype=torch.float64), labelled([0, 1, 2])

    def loss(temperature: float | Tensor) -> Tensor:
        method = replace(Heteroscedastic(factors=1), temperature=temperature)
        return method.objective({"net": Law(1)}, batch, Context(draws=FACTOR)).loss

    looped = [loss(value) for value in values.tolist()]
    torch.testing.assert_close(vmap(loss)(values), torch.stack(looped), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("het", Heteroscedastic(1.0, 0)),
        ("het_tau", Heteroscedastic(20.0, 0)),
        ("het_tau_full", Heteroscedastic(10.0, 4)),
        ("official", Heteroscedastic(1.3, 6, 10_000)),
    ],
)
def test_presets_are_those_of_paper_and_public_code(preset: str, expected: Heteroscedastic) -> None:
    assert build("heteroscedastic", {"preset": preset}) == expected


@pytest.mark.parametrize("check", ["packed_equals_alone", "gradients_reach_what_learns", "learns_separable_blobs"])
def test_the_full_covariance_keeps_the_contract(check: str) -> None:
    CHECKS[check](Heteroscedastic(factors=2, samples=50))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"factors": -1}, "factors must be at least 0, not -1"),
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"temperature": 0.0}, "temperature must be above 0, not 0.0"),
    ],
)
def test_settings_without_a_law_are_refused(settings, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        build("heteroscedastic", settings)
