import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.logistic_normal import LogisticNormal
from labelnoise.types import Batch, Context, DataSpec

MU, C = [0.2, -0.1, 0.4], [0.3, -0.5, 0.1]


class Law(nn.Module):
    """The same mu and c for every row."""

    def __init__(self, mu: list[float] = MU, c: list[float] = C) -> None:
        super().__init__()
        self.mu, self.c = (nn.Parameter(torch.tensor(values, dtype=torch.float64)) for values in (mu, c))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.mu.expand(len(x), -1), self.c.expand(len(x), -1)


@pytest.mark.parametrize(
    ("method", "law", "label", "core"),
    [
        (LogisticNormal(), Law(), 1, 7.84713712792918),
        (LogisticNormal(dummy=False), Law(MU[:2], C[:2]), 1, 7.659445352150246),
        (LogisticNormal(dummy=False), Law(MU[:2], C[:2]), 2, 32.02611148962973),
        (LogisticNormal(covariance="diagonal"), Law(), 1, 7.374384490712343),
        (LogisticNormal(covariance="isotropic"), Law(c=[0.3]), 1, 12.436445325749192),
    ],
)
def test_objective_is_the_published_value(labelled, method: LogisticNormal, law: Law, label: int, core: float) -> None:
    loss = method.objective({"net": law}, labelled([label] * 3), Context()).loss
    assert loss.item() + len(law.mu) * math.log(0.5) == pytest.approx(core, rel=1e-12)


def test_prediction_drops_the_dummy_class() -> None:
    law = Law([-0.1, -0.3, -0.2])
    log_probs = LogisticNormal().log_probs({"net": law}, torch.zeros(2, 4), Context())
    assert log_probs[1].exp().tolist() == pytest.approx([0.4017595785, 0.2693074992, 0.3289329223], abs=1e-9)


def test_prediction_without_dummy_class_has_the_last_class_at_0() -> None:
    law = Law([-0.1, -0.3, -0.2])
    log_probs = LogisticNormal(dummy=False).log_probs({"net": law}, torch.zeros(2, 4), Context())
    expected = [0.2695088308, 0.1806571719, 0.220655168, 0.3291788293]
    assert log_probs[0].exp().tolist() == pytest.approx(expected, abs=1e-9)


def test_prediction_does_not_read_c() -> None:
    x = torch.zeros(2, 4)
    one, other = (LogisticNormal().log_probs({"net": Law(c=c)}, x, Context()) for c in (C, [5.0, 0.0, 1.0]))
    assert torch.equal(one, other)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic", "identity"])
@pytest.mark.parametrize("dummy", [True, False])
def test_networks_and_objective_fit_together(spec: DataSpec, labelled, covariance: str, dummy: bool) -> None:
    method, batch = LogisticNormal(covariance=covariance, dummy=dummy), labelled([0, 1, 2, 0])
    nets = {name: net.double() for name, net in method.networks(spec).items()}
    method.objective(nets, batch, Context()).loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in nets["net"].parameters())
    assert method.log_probs(nets, batch.x, Context()).shape == (4, 3)


def test_objective_mapped_over_settings_equals_the_loop(labelled) -> None:
    values, batch = torch.tensor([0.1, 0.5, 1.0], dtype=torch.float64), labelled([0, 1, 2])

    def loss(temperature: float | Tensor, floor: float | Tensor) -> Tensor:
        method = replace(LogisticNormal(), temperature=temperature, floor=floor)
        return method.objective({"net": Law()}, batch, Context()).loss

    floats = values.tolist()
    looped = [loss(*pair) for pair in zip(floats, reversed(floats), strict=True)]
    torch.testing.assert_close(vmap(loss)(values, values.flip(0)), torch.stack(looped), rtol=1e-12, atol=0)


def test_preset_of_clothing1m_smooths_more() -> None:
    assert build("logistic_normal", {"preset": "clothing1m"}) == LogisticNormal(smoothing=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"floor": 0.0}, "floor must be a number of at least 0.001"),
        ({"temperature": -1.0}, "temperature must be a number above 0"),
        ({"smoothing": 2.0}, "smoothing must be above 0 and below 1"),
        ({"covariance": "dense"}, "unknown covariance 'dense'"),
    ],
)
def test_settings_without_a_likelihood_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build("logistic_normal", settings)


def test_rows_are_examined_by_their_residuals_with_and_without_the_covariance() -> None:
    """Vector A of the published oracle: ‖r‖² and q; a label that is met counts as 1e-12."""
    mu, c = (torch.tensor([each], dtype=torch.float64) for each in (MU, C))
    method = LogisticNormal(0.5, 0.5)
    batch = Batch(torch.zeros(1), torch.tensor([1]), torch.zeros(1))
    found = method.examine({"net": lambda _: (mu, c)}, batch, Context())
    assert 10 ** found["residual"].item() == pytest.approx(9.760266980899829, rel=1e-12)
    assert 10 ** found["weighted"].item() == pytest.approx(18.791900837093692, rel=1e-12)
    met = method.examine(
        {"net": lambda _: (torch.tensor([[0.0, 2.991968140343595, 0]], dtype=torch.float64), 0 * c)}, batch, Context()
    )
    assert met["residual"].item() == met["weighted"].item() == -12
