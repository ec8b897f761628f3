import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from labelnoise.engine import convolution
from labelnoise.engine.convolution import ByRows, by_rows
from labelnoise.engine.lanes import Alone, Stacked
from labelnoise.methods.ce import CE
from labelnoise.nets import build
from labelnoise.nets.base import Net
from labelnoise.types import DataSpec

LAYERS = {
    "padded": {"in_channels": 1, "out_channels": 6, "kernel_size": 5, "padding": 2},
    "bare": {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "bias": False},
    "strided": {"in_channels": 2, "out_channels": 5, "kernel_size": 3, "stride": 2, "padding": 1},
    "oblong": {"in_channels": 2, "out_channels": 3, "kernel_size": (3, 5), "stride": (2, 1), "padding": (0, 2)},
    "of one pixel": {"in_channels": 3, "out_channels": 2, "kernel_size": 1},
}


def made(name):
    torch.manual_seed(0)
    layer = nn.Conv2d(**LAYERS[name]).double()
    x = torch.randn(4, layer.in_channels, 9, 12, dtype=torch.float64, requires_grad=True)
    return layer, x


def computed_by_rows(layer):
    """The same layer with the same weights."""
    other = nn.Conv2d.__new__(ByRows)
    other.__dict__ |= layer.__dict__
    return other


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_the_convolution(name, equals_convolution):
    equals_convolution(ByRows, *made(name))


def test_mapped_over_runs_each_has_its_own_kernel():
    layers = [nn.Conv2d(2, 3, 3, padding=1).double() for _ in range(3)]
    x = torch.randn(3, 4, 2, 6, 6, dtype=torch.float64)
    weights, _ = stack_module_state(layers)
    found = vmap(lambda own, each: functional_call(computed_by_rows(layers[0]), own, (each,)))(weights, x)
    wanted = torch.stack([layer(each) for layer, each in zip(layers, x, strict=True)])
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_where_the_matrix_would_be_too_large_it_stays_a_convolution(monkeypatch):
    layer, x = made("padded")
    monkeypatch.setattr(convolution, "MOST", 1 * 5 * 12 * 6 * 12 - 1)
    monkeypatch.setattr(ByRows, "_matrix", None)
    torch.testing.assert_close(computed_by_rows(layer)(x), layer(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, padding="same"),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.ConvTranspose2d(4, 4, 3),
        nn.Linear(4, 4),
    ],
)
def test_layers_that_are_no_plain_convolutions_stay_as_they_are(layer):
    kind = type(layer)
    by_rows(Net(nn.Sequential(layer), 4, 2))
    assert type(layer) is kind


def test_networks_that_are_none_of_this_package_stay_as_they_are():
    layer = nn.Conv2d(1, 2, 3)
    by_rows(nn.Sequential(layer))
    assert type(layer) is nn.Conv2d


def test_a_layer_stays_the_same_object_with_its_hooks():
    layer, seen = nn.Conv2d(1, 2, 3), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    net = Net(nn.Sequential(layer), 2, 2)
    by_rows(net)
    assert net.body[0] is layer
    layer(torch.zeros(1, 1, 5, 5))
    assert (type(layer), seen, layer.out_channels) == (ByRows, [1], 2)


def test_a_network_keeps_its_weights_and_their_names():
    net = build("lenet5", (1, 28, 28), 10)
    before = net.state_dict()
    by_rows(net)
    assert sum(isinstance(module, ByRows) for module in net.modules()) == 2
    after = net.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_packed_runs_predict_by_rows_what_each_predicts_by_convolution():
    like = torch.zeros((), dtype=torch.float64)
    spec = DataSpec((1, 12, 12), 3, 30, lambda head: build("lenet5", (1, 12, 12), head))
    alone, stacked = [Alone([CE()], spec, [seed], like) for seed in (5, 6)], Stacked([CE()] * 2, spec, [5, 6], like)
    by_rows(stacked.module)
    x = torch.rand(7, 1, 12, 12, dtype=torch.float64)
    for lane in (*alone, stacked):
        lane.current, lane.hypers = lane.methods, {}
    each = [lane.map(lambda _, nets, x: nets["net"](x), x) for lane in alone]
    both = stacked.map(lambda _, nets, x: nets["net"](x), x.expand(2, -1, -1, -1, -1))
    torch.testing.assert_close(both, torch.stack(each), rtol=1e-10, atol=1e-12)
