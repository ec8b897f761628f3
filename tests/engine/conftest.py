import pytest
import torch
from torch import nn
from torch.autograd import grad


def computed_as(kind, layer):
    """The same layer with the same weights, computed as another kind does."""
    other = nn.Conv2d.__new__(kind)
    other.__dict__ |= layer.__dict__
    return other


def value_and_gradients(module, weights, x):
    y = module(x)
    factors = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    return y, *grad((y * factors).sum(), [x, *weights])


def compiled(module):
    return torch.compile(module, backend="aot_eager", dynamic=False)


@pytest.fixture(params=[lambda module: module, compiled], ids=["plain", "compiled"])
def equals_convolution(request):
    """A check that another kind of layer gives what a convolution gives, forward and backward."""

    def check(kind, layer, x):
        weights = list(layer.parameters())
        found = value_and_gradients(request.param(computed_as(kind, layer)), weights, x)
        torch.testing.assert_close(found, value_and_gradients(layer, weights, x), rtol=1e-10, atol=1e-12)

    return check
