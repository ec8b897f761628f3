import math

import pytest
import torch

from labelnoise.losses import squared_residuals
from labelnoise.losses.label_logits import label_residual
from labelnoise.losses.normal import COVARIANCES, scale_width

B, K, TAU, LAM, T = 5, 4, 0.7, 0.3, 0.01


def residuals(mu, c, target, covariance="full", *, dummy=True):
    return squared_residuals(label_residual(mu, target, tau=TAU, smoothing=T, dummy=dummy), c, LAM, covariance)


def outputs(covariance, d=K):
    generator = torch.Generator().manual_seed(0)
    width = scale_width(covariance, d)
    return (3 * torch.randn(B, n, generator=generator, dtype=torch.float64) for n in (d, width))


def dense(covariance, c, d):
    """Σ^(1/2) of one row as a matrix."""
    eye = torch.eye(d, dtype=torch.float64)
    return {
        "identity": lambda: eye,
        "isotropic": lambda: (c**2 + LAM) * eye,
        "diagonal": lambda: torch.diag(c**2 + LAM),
        "full": lambda: torch.outer(c, c) + LAM * eye,
    }[covariance]()


@pytest.mark.parametrize("dummy", [True, False])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_residuals_are_those_of_dense_linear_algebra(covariance, dummy):
    d = K if dummy else K - 1
    mu, c = outputs(covariance, d)
    target = torch.arange(B) % K
    plain, weighted = residuals(mu, c, target, covariance, dummy=dummy)
    for row, label in enumerate(target.tolist()):
        smoothed = torch.full((d + 1,), T / (d + 1), dtype=torch.float64)
        smoothed[label] += 1 - T
        r = TAU * (smoothed[:-1] / smoothed[-1]).log() - mu[row]
        root = dense(covariance, c[row], d)
        assert plain[row].item() == pytest.approx((r @ r).item(), rel=1e-12)
        assert weighted[row].item() == pytest.approx((r @ torch.linalg.solve(root @ root.T, r)).item(), rel=1e-10)


def test_the_best_covariance_makes_a_large_residual_one():
    # the profile of the loss: λ + s = ‖r‖ with c along r
    mu, target = torch.zeros(1, K, dtype=torch.float64), torch.tensor([2])
    height = TAU * math.log(((1 - T) * (K + 1) + T) / T)
    c = torch.zeros(1, K, dtype=torch.float64)
    c[0, 2] = math.sqrt(height - LAM)
    plain, weighted = residuals(mu, c, target)
    assert plain.item() == pytest.approx(height**2)
    assert weighted.item() == pytest.approx(1)


def test_half_precision_comes_back_as_single():
    mu, c = (each.to(torch.bfloat16) for each in outputs("full"))
    found = residuals(mu, c, torch.arange(B) % K)
    assert {each.dtype for each in found} == {torch.float32}
