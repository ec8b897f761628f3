import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.peer import PeerLoss, peer_loss


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


INPUTS = double([0.4, 0.35, 0.25])
POSTERIOR = double([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
LOGITS = double([[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.2, 0.2, 0.6]]).log()
FLOWS = double([0.1, 0.2, 0.05])  # every class turns into class j with FLOWS[j]
T = 0.65 * torch.eye(3).double() + FLOWS


def risk(posterior: Tensor, alpha: float, eps: float = 0.0) -> float:
    """The expected loss: soft labels that belong to the inputs, and the prior as everybody's other label."""
    prior = (INPUTS @ posterior).expand(3, 3)
    return (INPUTS @ peer_loss(LOGITS, posterior, prior, alpha, eps)).item()


def test_uniform_noise_scales_the_risk_as_published() -> None:
    assert risk(POSTERIOR, 1.0) == pytest.approx(-0.45710716, abs=1e-8)
    assert risk(POSTERIOR @ T, 1.0) == pytest.approx(-0.29711965, abs=1e-8)
    assert risk(POSTERIOR @ T, 1.0) == pytest.approx(0.65 * risk(POSTERIOR, 1.0), abs=1e-12)


def test_uniform_noise_scales_the_risk_with_the_bounded_logarithm_too() -> None:
    assert risk(POSTERIOR @ T, 1.0, 1e-5) == pytest.approx(0.65 * risk(POSTERIOR, 1.0, 1e-5), abs=1e-12)


def test_without_the_second_term_it_is_cross_entropy_as_published() -> None:
    assert risk(POSTERIOR, 0.0) == pytest.approx(0.79677662, abs=1e-8)
    assert risk(POSTERIOR @ T, 0.0) == pytest.approx(0.95154940, abs=1e-8)


def test_half_of_the_second_term_leaves_the_published_residual() -> None:
    residual = risk(POSTERIOR @ T, 0.5) - 0.65 * risk(POSTERIOR, 0.5)
    assert risk(POSTERIOR, 0.5) == pytest.approx(0.16983473, abs=1e-8)
    assert risk(POSTERIOR @ T, 0.5) == pytest.approx(0.32721487, abs=1e-8)
    assert residual == pytest.approx(0.21682230, abs=1e-8)
    assert residual == pytest.approx(0.5 * (INPUTS @ -LOGITS @ FLOWS).item(), abs=1e-12)


def test_the_loss_is_bounded_on_both_sides() -> None:
    logits = double([[1e4, -1e4]])
    first, second = torch.tensor([0]), torch.tensor([1])
    assert peer_loss(logits, second, first).item() == pytest.approx(11.512935, abs=1e-5)
    assert peer_loss(logits, first, second).item() == pytest.approx(-11.512935, abs=1e-5)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.floats(0, 3))
def test_module_pairs_each_row_with_the_label_before_it(seed: int, B: int, alpha: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    logits, target = torch.randn(B, 4, generator=rng, dtype=torch.float64), torch.randint(4, (B,), generator=rng)
    fit = cross_entropy(logits, target, 1e-5)
    naive = [
        fit[i] - alpha * cross_entropy(logits[i : i + 1], target[i - 1 : i] if i else target[-1:], 1e-5)[0]
        for i in range(B)
    ]
    torch.testing.assert_close(PeerLoss(alpha, "none")(logits, target), torch.stack(naive), rtol=1e-12, atol=1e-12)
