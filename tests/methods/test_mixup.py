import pytest
import torch
from torch import nn
from torch.func import vmap

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.ce import CE
from labelnoise.methods.mixup import Mixup
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec

SWAP = torch.tensor([1, 0])


def drawn(lam: float) -> Context:
    return Context(draws={"lam": torch.tensor(lam, dtype=torch.float64), "perm": SWAP})


def test_objective_is_the_published_one(table, labelled) -> None:
    nets = {"net": table([[2.0, 0.0, -1.0], [0.5, 0.5, 0.0]])}
    assert Mixup().objective(nets, labelled([0, 2]), drawn(0.3)).loss.item() == pytest.approx(1.688933, abs=1e-6)


def test_inputs_are_mixed_as_published() -> None:
    seen = []

    class Watch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(x)
            return x

    batch = Batch(torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([0, 1]), torch.arange(2))
    Mixup().objective({"net": Watch()}, batch, drawn(0.3))
    torch.testing.assert_close(seen[0], torch.tensor([[2.4, -0.1], [1.6, 1.1]]))


def test_objective_is_cross_entropy_with_soft_labels(table, labelled) -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    eye = torch.eye(3, dtype=torch.float64)
    soft = 0.3 * eye[[0, 2]] + 0.7 * eye[[2, 0]]
    expected = -(soft * logits.log_softmax(-1)).sum(-1).mean()
    loss = Mixup().objective({"net": table(logits)}, labelled([0, 2]), drawn(0.3)).loss
    torch.testing.assert_close(loss, expected, rtol=1e-14, atol=0)


def test_unmixed_batch_gives_cross_entropy(spec: DataSpec, labelled) -> None:
    nets, batch = Mixup().networks(spec), labelled([0, 2])
    torch.testing.assert_close(
        Mixup().objective(nets, batch, drawn(1.0)).loss, CE().objective(nets, batch, Context()).loss
    )


def test_draws_are_one_coefficient_and_one_permutation_per_batch(spec: DataSpec) -> None:
    draws = Mixup().draws(spec, 6, Rng(0))
    assert draws["lam"].shape == ()
    assert 0 <= draws["lam"] <= 1
    assert sorted(draws["perm"].tolist()) == list(range(6))


def test_large_alpha_draws_coefficients_near_a_half(spec: DataSpec) -> None:
    """Beta(a, a) has variance 1 / (4 (2a + 1))."""
    spread = {
        alpha: torch.stack([Mixup(alpha).draws(spec, 1, Rng(seed))["lam"] for seed in range(200)]).var().item()
        for alpha in (0.5, 8.0)
    }
    assert spread[0.5] == pytest.approx(1 / 8, rel=0.3)
    assert spread[8.0] == pytest.approx(1 / 68, rel=0.3)


def test_gradient_mapped_over_draws_equals_the_loop(spec: DataSpec, labelled) -> None:
    nets, batch = Mixup().networks(spec), labelled([0, 2, 1, 1])
    draws = [Mixup().draws(spec, 4, Rng(seed, dtype=torch.float64)) for seed in range(3)]
    stacked = {name: torch.stack([draw[name] for draw in draws]) for name in draws[0]}
    mapped = vmap(lambda draw: Mixup().objective(nets, batch, Context(draws=draw)).loss)(stacked)
    looped = [Mixup().objective(nets, batch, Context(draws=draw)).loss for draw in draws]
    torch.testing.assert_close(mapped, torch.stack(looped), rtol=1e-12, atol=0)


def test_alpha_of_zero_mixes_nothing(spec: DataSpec) -> None:
    draws = [Mixup(0.0).draws(spec, 6, Rng(seed, dtype=torch.float64)) for seed in range(3)]
    assert [draw["lam"].item() for draw in draws] == [1.0, 1.0, 1.0]
    assert draws[0]["lam"].dtype == torch.float64


def test_a_negative_alpha_is_refused() -> None:
    with pytest.raises(InputError, match="alpha must not be negative, but is -1"):
        Mixup(-1.0)


def test_the_official_preset_draws_uniformly() -> None:
    assert build("mixup", {"preset": "official"}).alpha == 1.0
