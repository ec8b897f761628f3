import pytest
import torch
from torch import Tensor

from labelnoise.losses import noisy_logits as draws
from labelnoise.losses.noisy_logits import chunks, noisy_logits

B, K, S, R = 5, 4, 23, 2


def normal(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LAW = (2 * normal(B, K), normal(B, K, seed=1), normal(B, K, R, seed=2))
NORMALS = (normal(S, B, K, seed=3), normal(S, B, R, seed=4))


@pytest.mark.parametrize("numbers", [1, 3 * B * K, 10**6], ids=["one by one", "by threes", "at once"])
def test_chunks_hold_every_draw_once_and_no_more_than_fit(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "NUMBERS", numbers)
    parts = list(chunks(LAW, NORMALS))
    assert torch.equal(torch.cat([noise for noise, _ in parts]), NORMALS[0])
    assert torch.equal(torch.cat([noise for _, noise in parts]), NORMALS[1])
    assert max(len(noise) for noise, _ in parts) <= max(1, numbers // (B * K))


def test_on_other_devices_than_a_cpu_more_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "NUMBERS", 1)
    monkeypatch.setattr(draws, "MORE", 3 * B * K)
    loc, scale, factors = (part.to("meta") for part in LAW)
    parts = chunks((loc, scale, factors), (NORMALS[0].to("meta"), NORMALS[1].to("meta")))
    assert [len(noise) for noise, _ in parts] == [3] * 7 + [2]


def test_noisy_logits_have_classes_first() -> None:
    found, (loc, scale, factors), (noise, factor_noise) = noisy_logits(LAW, NORMALS), LAW, NORMALS
    assert found.shape == (K, S, B)
    expected = loc[1, 2] + scale[1, 2] * noise[7, 1, 2] + factors[1, 2] @ factor_noise[7, 1]
    assert found[2, 7, 1].item() == pytest.approx(expected.item(), rel=1e-12)
