import math

import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.losses.evidence_bound import EvidenceBound, Generated
from labelnoise.types import Batch

# four examples of four numbers and three classes, z of two numbers
X = torch.tensor([[0, 0.5, 1, 0.25], [1, 1, 0, 0], [0.2, 0.4, 0.6, 0.8], [0.5, 0.5, 0.5, 0.5]]).double()
GUESS = torch.tensor([[0.1, 0.5, 0.7, 0.25], [0.9, 0.6, 0.1, 0.2], [0.3, 0.4, 0.5, 0.7], [0.5, 0.4, 0.6, 0.9]]).double()
NOISY = torch.tensor([[1, 0, 0], [0, 1, 0.5], [0.2, 0.1, 0], [0, 0, 2]]).double()
MEAN = torch.tensor([[0.5, -1], [0, 0], [0.2, 0.1], [-0.3, 0.4]]).double()
LOG_VARIANCE = torch.tensor([[0, math.log(0.25)], [0, 0], [-0.5, 0.5], [0.1, -0.1]]).double()
LOGITS = torch.tensor([[2, 0, 0], [0, 1, 0], [1, 0, 0.5], [0, 0, 3]]).double()
LABEL = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.5, 0.2, 0.3], [0.05, 0.05, 0.9]]).double()
UNIFORMS = (-(LOGITS - LABEL.log()).exp()).exp()  # which draw that label
BATCH = Batch(X, torch.tensor([0, 1, 2, 2]), torch.arange(4))
PUBLISHED = {"reconstruction": 0.131250, "noisy_label": 0.668300, "label_prior": -0.756921, "gaussian_kl": 0.306444}


def fixed(x, label, noise):
    assert label.sum(-1).tolist() == pytest.approx([1] * 4)
    return Generated(MEAN, LOG_VARIANCE, GUESS, NOISY)


class Linear(nn.Module):
    """Generative networks that are linear in input, label and noise."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.parts = nn.ModuleList(nn.Linear(4 + 3 + 2, width) for width in (2, 2, 4, 3)).double()

    def forward(self, x, label, noise):
        times = len(label) // len(x)
        seen = torch.cat([x.repeat(times, 1), label, noise.repeat(times, 1)], -1)
        return Generated(*(part(seen) for part in self.parts))


def terms(generator=fixed, **settings):
    return EvidenceBound(**settings).terms(BATCH, LOGITS, generator, UNIFORMS, torch.zeros(4, 2).double())


@pytest.mark.parametrize(
    ("settings", "other"),
    [
        ({}, {}),
        ({"distance": "mse"}, {"reconstruction": 0.033125}),
        ({"prior_form": "constant"}, {"label_prior": -1.098612}),
        ({"prior_form": "sample"}, {"label_prior": 0.291645 - 0.033125 - 0.668300 - 0.306444}),
        ({"kl_reduction": "sum"}, {"gaussian_kl": 1.225777}),
    ],
)
def test_terms_are_the_published_ones(settings, other):
    found = {name: value.item() for name, value in terms(**settings).items()}
    assert found == pytest.approx(PUBLISHED | other, abs=2e-6)


def test_the_generator_sees_the_label_that_was_drawn():
    seen = []
    terms(lambda x, label, noise: seen.append(label) or fixed(x, label, noise))
    torch.testing.assert_close(seen[0], LABEL)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_enumerated_terms_are_the_expectation_over_one_hot_labels(reduction):
    generator, q = Linear(), LOGITS.softmax(-1)
    found = terms(generator, y_mode="enumerate", kl_reduction=reduction)
    for name, value in found.items():
        expected = 0.0
        for b in range(4):
            row = Batch(X[b : b + 1], BATCH.y[b : b + 1], torch.zeros(1))
            for k in range(3):
                sure = torch.full((1, 3), -1e4).double()
                sure[0, k] = 1e4
                one = EvidenceBound(y_mode="softmax").terms(row, sure, generator, sure, torch.zeros(1, 2).double())
                expected += (q[b, k] * one[name]).item() / (1 if (name, reduction) == ("gaussian_kl", "sum") else 4)
        if name != "label_prior":
            assert value.item() == pytest.approx(expected)
    assert found["label_prior"].item() == pytest.approx((q * q.log()).sum(-1).mean().item())


def test_the_mean_over_many_one_hot_draws_nears_the_enumerated_terms():
    many, generator = 20_000, Linear()
    batch = Batch(X[:1].expand(many, 4), BATCH.y[:1].expand(many), torch.arange(many))
    uniforms = torch.rand(many, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    noise, logits = torch.zeros(many, 2).double(), LOGITS[2:3].expand(many, 3)
    drawn = EvidenceBound(y_mode="gumbel_st").terms(batch, logits, generator, uniforms, noise)
    exact = EvidenceBound(y_mode="enumerate").terms(batch, logits, generator, uniforms, noise)
    for name, value in exact.items():
        assert drawn[name].item() == pytest.approx(value.item(), abs=0.01)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"y_mode": "hard"}, "y_mode must be gumbel_soft, gumbel_st, softmax, enumerate, not 'hard'"),
        ({"distance": "l2"}, "distance must be l1, mse, not 'l2'"),
        ({"prior_form": "none"}, "prior_form must be softmax, constant, sample, not 'none'"),
        ({"kl_reduction": "none"}, "kl_reduction must be mean, sum, not 'none'"),
        ({"tau": 0.0}, "tau must be above 0, not 0.0"),
        ({"prior_form": "sample", "y_mode": "enumerate"}, "one-hot labels have no entropy"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        EvidenceBound(**settings)
