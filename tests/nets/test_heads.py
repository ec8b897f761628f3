from functools import partial

import numpy as np
import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from labelnoise.errors import InputError
from labelnoise.losses import LogisticNormalLoss
from labelnoise.nets import HeteroscedasticHead
from labelnoise.nets.heads import LogisticNormalHead


def test_outputs_are_the_formulas_of_the_paper() -> None:
    head = HeteroscedasticHead(4, classes=3, factors=2).double()
    features = torch.randn(5, 4, dtype=torch.float64)
    loc, scale, factors = (value.detach().numpy() for value in head(features))
    weight = {key: value.detach().numpy() for key, value in head.named_parameters()}
    for row, h in enumerate(features.numpy()):
        for k in range(3):
            assert np.isclose(loc[row, k], weight["loc.weight"][k] @ h, rtol=1e-12)
            assert np.isclose(scale[row, k], np.log1p(np.exp(weight["scale.weight"][k] @ h)) + 1e-3, rtol=1e-12)
            for r in range(2):
                assert np.isclose(factors[row, k, r], weight["factors.weight"][2 * k + r] @ h, rtol=1e-12)


def test_scale_of_zero_features_is_softplus_of_zero_and_a_thousandth() -> None:
    out = HeteroscedasticHead(4, classes=3)(torch.zeros(2, 4))
    torch.testing.assert_close(out.scale, torch.full((2, 3), 0.6941472))
    assert not out.loc.any()


def test_scale_never_falls_below_a_thousandth() -> None:
    head = HeteroscedasticHead(1, classes=2)
    torch.nn.init.constant_(head.scale.bias, -1e4)
    assert torch.equal(head(torch.ones(1, 1)).scale, torch.full((1, 2), 1e-3))


def test_without_factors_the_third_output_is_empty() -> None:
    head = HeteroscedasticHead(4, classes=3)
    assert head(torch.randn(5, 4)).factors.shape == (5, 3, 0)
    assert sum(p.numel() for p in head.parameters()) == 2 * (4 * 3 + 3)


def check_packed_equals_alone(heads) -> None:
    """Two heads that take four features."""
    features = torch.randn(2, 5, 4, dtype=torch.float64)
    weights, buffers = stack_module_state(heads)
    packed = vmap(lambda w, b, h: functional_call(heads[0], (w, b), (h,)))(weights, buffers, features)
    for run, head in enumerate(heads):
        for value, alone in zip(packed, head(features[run]), strict=True):
            torch.testing.assert_close(value[run], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("factors", "published"), [(1, 1_505_020), (2, 1_517_920), (4, 1_543_720)])
def test_wide_resnet_with_factors_has_the_published_size(parameters, factors: int, published: int) -> None:
    head = partial(HeteroscedasticHead, classes=100, factors=factors)
    assert parameters("wrn_28_2", (3, 32, 32), head) == published


@pytest.mark.parametrize("layer", ["loc", "scale", "factors"])
def test_each_layer_is_glorot_with_zero_bias(layer: str) -> None:
    linear = getattr(HeteroscedasticHead(200, classes=100, factors=1), layer)
    bound = (6 / 300) ** 0.5
    assert 0.99 * bound < linear.weight.abs().max() <= bound
    assert not linear.bias.any()


@pytest.mark.parametrize("factors", [0, 2])
def test_packed_equals_alone(factors: int) -> None:
    heads = [HeteroscedasticHead(4, classes=3, factors=factors).double() for _ in range(2)]
    check_packed_equals_alone(heads)


@pytest.mark.parametrize("factors", [-1, 4])
def test_more_factors_than_classes_or_fewer_than_none_are_refused(factors: int) -> None:
    with pytest.raises(InputError, match=f"from 0 to the 3 classes, not {factors}"):
        HeteroscedasticHead(4, classes=3, factors=factors)


WIDTHS = {"identity": (0, 0), "isotropic": (1, 1), "diagonal": (3, 2), "full": (3, 2)}  # with dummy class, without


@pytest.mark.parametrize(("covariance", "widths"), WIDTHS.items())
def test_logistic_normal_outputs_are_linear_and_as_wide_as_their_law(covariance: str, widths: tuple[int, int]) -> None:
    features = torch.randn(5, 4)
    for dummy, d, width in ((True, 3, widths[0]), (False, 2, widths[1])):
        head = LogisticNormalHead(4, classes=3, covariance=covariance, dummy=dummy)
        mu, c = head(features)
        assert (mu.shape, c.shape) == ((5, d), (5, width))
        torch.testing.assert_close(mu, features @ head.mu.weight.T)
        if width:
            torch.testing.assert_close(c, features @ head.c.weight.T)
        assert sum(p.numel() for p in head.parameters()) == (4 + 1) * (d + width)


@pytest.mark.parametrize("layer", ["mu", "c"])
def test_logistic_normal_layers_are_glorot_with_zero_bias(layer: str) -> None:
    linear = getattr(LogisticNormalHead(200, classes=100), layer)
    bound = (6 / 300) ** 0.5
    assert 0.99 * bound < linear.weight.abs().max() <= bound
    assert not linear.bias.any()


@pytest.mark.parametrize("covariance", ["identity", "full"])
def test_logistic_normal_packed_equals_alone(covariance: str) -> None:
    heads = [LogisticNormalHead(4, classes=3, covariance=covariance).double() for _ in range(2)]
    check_packed_equals_alone(heads)


def test_logistic_normal_head_learns_in_a_loop_of_ones_own() -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    x = torch.eye(3, 4)[y] + 0.1 * torch.randn(60, 4, generator=generator)
    head, loss = LogisticNormalHead(4, classes=3), LogisticNormalLoss()
    optimiser = torch.optim.Adam(head.parameters(), lr=0.05)
    first = loss(head(x), y).item()
    for _ in range(100):
        optimiser.zero_grad()
        loss(head(x), y).backward()
        optimiser.step()
    assert loss(head(x), y).item() < first / 10
    assert torch.equal(head(x).mu.argmax(-1), y)


def test_an_unknown_covariance_of_a_head_is_refused() -> None:
    with pytest.raises(InputError, match="unknown covariance 'dense'"):
        LogisticNormalHead(4, classes=3, covariance="dense")
