import pytest
import torch

from labelnoise.speed import kernels
from labelnoise.speed.cases import Bench

CPU = torch.device("cpu")


@pytest.fixture
def given():
    mu, c, y, noise = kernels.inputs(CPU, batch=12, classes=5, samples=7)
    mu, c = (each.detach().double().requires_grad_() for each in (mu, c))
    return kernels.Inputs(mu, c, y, noise.double())


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_a_loss_and_its_naive_form_differ_by_a_constant(name, given):
    ours, naive = (kernel(given).detach() for kernel in kernels.KERNELS[name])
    assert ours.shape == (12,)
    torch.testing.assert_close(ours - ours.mean(), naive - naive.mean(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_a_loss_and_its_naive_form_have_the_same_gradient(name, given):
    for ours, naive in zip(*(kernels.passes(kernel, given) for kernel in kernels.KERNELS[name]), strict=True):
        torch.testing.assert_close(ours, naive, rtol=0, atol=1e-5)


def test_every_loss_is_measured_against_its_naive_form(monkeypatch):
    monkeypatch.setattr(kernels, "inputs", _tiny)
    figures = list(kernels.measure(Bench(CPU, 0.0)))
    assert [figure.name for figure in figures] == list(kernels.KERNELS)
    assert all(figure.value > 0 and min(figure.ratios.values()) > 0 for figure in figures)


def _tiny(device, make=kernels.inputs):
    return make(device, batch=4, classes=3, samples=2)
