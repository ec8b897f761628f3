import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap
from torch.nn.functional import one_hot, pad

from labelnoise.losses.label_logits import label_height, label_residual, log_volume, noisy_posterior

DOUBLE = torch.float64
HEIGHTS = [  # K, smoothing, C with dummy class, C without
    (2, 0.01, 5.697093486505, 5.293304824724),
    (10, 0.01, 6.993932975223, 6.898714534330),
    (14, 0.01, 7.303843225278, 7.234898420315),
    (14, 0.10, 4.912654885736, 4.844187086459),
    (100, 0.01, 9.210340371976, 9.200391041123),
    (1000, 0.01, 11.503884720318, 11.502885230076),
    (10, 0.10, 4.605170185988, 4.510859506517),
    (100, 0.10, 6.813444599511, 6.803505257608),
]


def logits(target: Tensor, d: int, tau: float, smoothing: float, dummy: bool) -> Tensor:
    """Of the labels, as the residual of mu = 0 shows them."""
    return -label_residual(torch.zeros(len(target), d, dtype=DOUBLE), target, tau=tau, smoothing=smoothing, dummy=dummy)


def smoothed(soft: Tensor, smoothing: float, dummy: bool) -> Tensor:
    """The smoothed label over all categories, the dummy class last."""
    full = pad(soft, (0, 1)) if dummy else soft
    return (1 - smoothing) * full + smoothing / full.shape[-1]


@pytest.mark.parametrize(("K", "smoothing", "with_dummy", "without"), HEIGHTS)
def test_heights_are_the_published_ones(K: int, smoothing: float, with_dummy: float, without: float) -> None:
    assert label_height(K + 1, smoothing) == pytest.approx(with_dummy, abs=1e-11)
    assert label_height(K, smoothing) == pytest.approx(without, abs=1e-11)


def test_soft_labels_have_the_published_logits() -> None:
    soft = torch.tensor([[0.7, 0.2, 0.1]], dtype=DOUBLE)
    assert logits(soft, 3, 1.0, 0.01, True)[0].tolist() == pytest.approx([5.6283402795, 4.3845235149, 3.7037680666])


def test_with_a_dummy_class_all_labels_lie_equally_far_out() -> None:
    lengths = logits(torch.arange(10), 10, 1.0, 0.01, True).square().sum(-1)
    torch.testing.assert_close(lengths, torch.full((10,), label_height(11, 0.01) ** 2, dtype=DOUBLE))


def test_without_a_dummy_class_labels_of_the_last_lie_further_out() -> None:
    points = logits(torch.arange(10), 9, 1.0, 0.01, False)
    lengths = points.square().sum(-1).tolist()
    assert lengths == pytest.approx([47.592262] * 9 + [428.330360], abs=1e-6)
    assert (points[0] - points[1]).square().sum().item() == pytest.approx(95.18, abs=0.01)
    assert (points[0] - points[9]).square().sum().item() == pytest.approx(571.11, abs=0.01)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(0.001, 0.9), st.floats(0.1, 5), st.booleans())
def test_softmax_of_the_logits_is_the_smoothed_label(
    seed: int, K: int, smoothing: float, tau: float, dummy: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    soft = torch.rand(3, K, generator=generator, dtype=DOUBLE).softmax(-1)
    for target in (soft, torch.randint(K, (3,), generator=generator)):
        points = logits(target, K if dummy else K - 1, tau, smoothing, dummy)
        full = target if target.ndim == 2 else one_hot(target, K).double()
        torch.testing.assert_close((pad(points, (0, 1)) / tau).softmax(-1), smoothed(full, smoothing, dummy))


@pytest.mark.parametrize("dummy", [True, False])
def test_a_soft_label_on_one_class_is_that_class(dummy: bool) -> None:
    target = torch.arange(4)
    hard, soft = (logits(labels, 4 if dummy else 3, 0.7, 0.05, dummy) for labels in (target, torch.eye(4)))
    torch.testing.assert_close(hard, soft, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dummy", [True, False])
def test_gradient_by_mu_is_1(dummy: bool) -> None:
    mu = torch.randn(4, 3, dtype=DOUBLE, requires_grad=True)
    for target in (torch.tensor([0, 1, 2, 2 if dummy else 3]), torch.full((4, 3 if dummy else 4), 0.25)):
        residual = label_residual(mu, target, tau=0.5, smoothing=0.01, dummy=dummy)
        assert torch.equal(torch.autograd.grad(residual.sum(), mu)[0], torch.ones_like(mu))


@pytest.mark.parametrize("dummy", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_mapped_over_runs_and_temperatures_equals_the_loop(dummy: bool, dtype: torch.dtype) -> None:
    mu = torch.randn(3, 4, 5, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)).to(dtype)
    taus, target = torch.tensor([0.1, 0.5, 1.0], dtype=DOUBLE), torch.arange(12).view(3, 4) % (5 if dummy else 6)

    def residual(mu: Tensor, target: Tensor, tau: Tensor) -> Tensor:
        return label_residual(mu, target, tau=tau, smoothing=0.01, dummy=dummy)

    looped = [residual(*run) for run in zip(mu, target, taus.tolist(), strict=True)]
    mapped = vmap(residual)(mu, target, taus)
    assert mapped.dtype == torch.promote_types(dtype, torch.float32)
    torch.testing.assert_close(mapped, torch.stack(looped))


def test_volume_is_the_published_one() -> None:
    assert log_volume(torch.tensor([1]), 4, 0.01) == pytest.approx(-17.981921907744738, rel=1e-14)


@pytest.mark.parametrize("dummy", [True, False])
def test_volume_is_minus_the_jacobian_of_the_logits(dummy: bool) -> None:
    """By automatic differentiation of log(p_k / p_n) in the free entries of p."""
    target = torch.tensor([[0.5, 0.3, 0.2]], dtype=DOUBLE)
    point = smoothed(target, 0.1, dummy)[0]

    def centred(free: Tensor) -> Tensor:
        return free.log() - (1 - free.sum()).log()

    jacobian = torch.autograd.functional.jacobian(centred, point[:-1])
    expected = -torch.linalg.slogdet(jacobian).logabsdet
    torch.testing.assert_close(log_volume(target, len(point), 0.1, dummy)[0], expected)


@pytest.mark.parametrize("dummy", [True, False])
def test_volume_of_hard_and_soft_labels_agree(dummy: bool) -> None:
    hard, soft = (log_volume(target, 4 + dummy, 0.1, dummy) for target in (torch.arange(4), torch.eye(4)))
    assert soft.tolist() == pytest.approx([hard] * 4)


def test_posterior_of_its_own_optimum_is_the_share_of_each_label() -> None:
    shares = torch.tensor([[0.6, 0.4, 0.0, 0.0], [0.7, 0.1, 0.1, 0.1]], dtype=DOUBLE)
    mu = 0.5 * label_height(5, 0.01) * shares
    torch.testing.assert_close(noisy_posterior(mu, 0.5, 0.01), shares, rtol=1e-14, atol=0)
    sharper = (mu / 0.5).softmax(-1)
    assert (sharper.max(-1).values > shares.max(-1).values).all()


def test_posterior_is_clipped_and_sums_to_1() -> None:
    height = math.log(1090)
    mu = torch.tensor([[2.0 * height, height, -5.0, *[0.0] * 7]])
    assert noisy_posterior(mu, 1.0)[0].tolist() == pytest.approx([0.5, 0.5, *[0.0] * 8])


def test_posterior_without_a_positive_entry_is_uniform() -> None:
    assert noisy_posterior(torch.tensor([[-1.0, -2.0]]), 0.5).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("dummy", [True, False])
def test_a_label_that_is_no_class_is_refused(dummy) -> None:
    with pytest.raises(RuntimeError, match="out of bounds"):
        label_residual(torch.zeros(1, 2), torch.tensor([3]), tau=1.0, smoothing=0.01, dummy=dummy)
