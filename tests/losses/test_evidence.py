import math

import pytest
import torch
from torch.func import vmap

from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.evidence import gaussian_kl, label_prior, reconstruction_error, reparametrised

MEAN = torch.tensor([[0.5, -1.0]], dtype=torch.float64)
LOG_VARIANCE = torch.tensor([[0.0, math.log(0.25)]], dtype=torch.float64)
Q = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64)


def random(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_divergence_from_a_standard_normal_is_the_published_one():
    assert gaussian_kl(MEAN, LOG_VARIANCE).item() == pytest.approx(0.943147, abs=1e-6)


def test_the_divergence_is_that_of_torch():
    mean, log_variance = random(6, 4), random(6, 4, seed=1)
    law = torch.distributions.Normal(mean, (log_variance / 2).exp())
    expected = torch.distributions.kl_divergence(law, torch.distributions.Normal(0.0, 1.0)).sum(-1)
    torch.testing.assert_close(gaussian_kl(mean, log_variance), expected)


def test_the_divergence_is_zero_and_flat_at_the_prior_alone():
    mean, log_variance = torch.zeros(1, 3, requires_grad=True), torch.zeros(1, 3, requires_grad=True)
    loss = gaussian_kl(mean, log_variance).sum()
    loss.backward()
    assert loss == 0
    assert not mean.grad.any()
    assert not log_variance.grad.any()
    assert gaussian_kl(torch.full((1, 3), 1e-3), torch.zeros(1, 3)) > 0


def test_a_draw_is_the_published_one():
    noise = torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    assert reparametrised(MEAN, LOG_VARIANCE, noise)[0].tolist() == pytest.approx([1.5, -2.0])


def test_the_label_prior_is_the_published_negative_entropy():
    found = label_prior(Q.log(), Q.flip(-1)).item()
    assert found == pytest.approx(-0.801819, abs=1e-6)
    assert found + math.log(3) == pytest.approx(0.296794, abs=1e-6)


def test_the_label_prior_of_the_sample_does_not_look_at_the_logits():
    assert label_prior(random(1, 3), Q, "sample").item() == pytest.approx(-0.801819, abs=1e-6)


def test_the_constant_label_prior_is_minus_log_k_and_has_no_gradient():
    logits = random(4, 3).requires_grad_()
    found = label_prior(logits, logits.softmax(-1), "constant")
    assert found.tolist() == pytest.approx([-1.098612] * 4, abs=1e-6)
    assert not found.requires_grad


@pytest.mark.parametrize("form", ["softmax", "sample"])
def test_the_label_prior_of_a_sure_label_is_zero_with_finite_gradients(form):
    logits = torch.tensor([[300.0, 0.0, -300.0]], requires_grad=True)
    loss = label_prior(logits, logits.softmax(-1), form).sum()
    loss.backward()
    assert loss == 0
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("distance", ["l1", "mse"])
def test_the_reconstruction_error_is_a_mean_over_all_numbers_of_an_input(distance):
    x, guess = random(2, 3, 2, 2), random(2, 3, 2, 2, seed=1)
    power = {"l1": 1, "mse": 2}[distance]
    off = zip(guess, x, strict=True)
    pairs = [list(zip(a.flatten().tolist(), b.flatten().tolist(), strict=True)) for a, b in off]
    expected = [sum(abs(p - q) ** power for p, q in each) / 12 for each in pairs]
    assert reconstruction_error(guess, x, distance).tolist() == pytest.approx(expected)


def test_terms_of_half_precision_are_at_least_single():
    x = torch.zeros(2, 3, dtype=torch.bfloat16)
    for found in (gaussian_kl(x, x), reconstruction_error(x, x), label_prior(x, x), label_prior(x, x, "constant")):
        assert found.dtype == torch.float32


def test_terms_mapped_over_runs_equal_the_loop():
    a, b = random(3, 5, 4), random(3, 5, 4, seed=1)
    forms = [lambda x, y, form=form: label_prior(x, y.softmax(-1), form) for form in ("softmax", "constant", "sample")]
    for function in (gaussian_kl, reconstruction_error, *forms):
        looped = torch.stack([function(x, y) for x, y in zip(a, b, strict=True)])
        torch.testing.assert_close(vmap(function)(a, b), looped, rtol=1e-14, atol=1e-16)


# A discrete model of y, z in {0, 1} and x in {0, 1, 2}; observed are x = 1 and the given label 0.
P_X = torch.tensor([[0.2, 0.4], [0.3, 0.2]], dtype=torch.float64)  # of that x, by y and z
P_GIVEN = torch.tensor([[0.7, 0.3], [0.2, 0.8]], dtype=torch.float64)  # by y, at that x
JOINT = 0.25 * P_X * P_GIVEN[:, :1]


def bound(q_y, q_z):
    """The evidence bound; what has to do with labels is computed by the losses."""
    given = -(q_y * cross_entropy(P_GIVEN.log(), torch.zeros(2, dtype=torch.int64))).sum()
    kl_y = label_prior(q_y.log()[None], q_y[None]).sum() + math.log(2)
    made = (q_y[:, None] * q_z * P_X.log()).sum()
    kl_z = (q_y[:, None] * q_z * (2 * q_z).log()).sum()
    return made, given, kl_y, kl_z


def test_the_terms_add_up_to_the_published_bound():
    q_y, q_z = torch.tensor([0.8, 0.2]).double(), torch.tensor([[0.6, 0.4], [0.3, 0.7]]).double()
    made, given, kl_y, kl_z = bound(q_y, q_z)
    terms = [term.item() for term in (made, given, kl_y, kl_z)]
    assert terms == pytest.approx([-1.363303, -0.607228, 0.192745, 0.032565], abs=1e-6)
    total = made + given - kl_y - kl_z
    assert total.item() == pytest.approx(-2.195840, abs=1e-6)
    q = q_y[:, None] * q_z
    torch.testing.assert_close(total, (q * (JOINT / q).log()).sum())


def test_the_bound_is_tight_at_the_posterior_and_below_elsewhere():
    evidence, posterior = JOINT.sum().log(), JOINT / JOINT.sum()
    made, given, kl_y, kl_z = bound(posterior.sum(1), posterior / posterior.sum(1, keepdim=True))
    torch.testing.assert_close(made + given - kl_y - kl_z, evidence)
    assert evidence.item() == pytest.approx(-2.040221, abs=1e-6)
    for seed in range(50):
        made, given, kl_y, kl_z = bound(random(2, seed=seed).softmax(-1), random(2, 2, seed=100 + seed).softmax(-1))
        assert made + given - kl_y - kl_z < evidence
