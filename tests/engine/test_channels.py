from copy import copy

import pytest
import torch
from torch import nn

from labelnoise.engine.channels import Filled, Summed, channels_last, eight_at_once
from labelnoise.engine.execution import Execution
from labelnoise.nets import build
from labelnoise.nets.causal_generator import Generator

LAYERS = {
    "few inputs": (Filled, nn.Conv2d(3, 16, 3, padding=1, bias=False)),
    "few outputs": (Filled, nn.Conv2d(8, 1, 4)),
    "few of both": (Filled, nn.Conv2d(2, 5, (3, 5), stride=2, padding=(0, 2))),
    "one pixel": (Summed, nn.Conv2d(1, 1, 1)),
    "pixels of colours": (Summed, nn.Conv2d(3, 2, 1, bias=False)),
}


@pytest.mark.parametrize(("kind", "layer"), LAYERS.values(), ids=LAYERS)
def test_values_and_gradients_are_those_of_the_convolution(kind, layer, equals_convolution):
    x = torch.randn(4, layer.in_channels, 9, 12, dtype=torch.float64, requires_grad=True)
    equals_convolution(kind, layer.double(), x)


@pytest.mark.parametrize("name", ["few inputs", "few outputs", "few of both"])
def test_what_is_multiplied_has_channels_by_eights_that_lie_last(name, monkeypatch):
    seen, conv2d = [], nn.functional.conv2d
    monkeypatch.setattr(nn.functional, "conv2d", lambda *args: seen.extend(args[:2]) or conv2d(*args))
    layer = copy(LAYERS[name][1]).double()
    layer.__class__ = Filled
    layer(torch.randn(4, layer.in_channels, 9, 12, dtype=torch.float64))
    x, kernels = seen
    assert x.shape[1] == kernels.shape[1]
    assert all(channels % 8 == 0 for channels in kernels.shape[:2])
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in seen)


def lowered(module, precision="auto"):
    Execution(precision=precision).lower(module, torch.device("cuda"))
    eight_at_once(module)
    return {type(each): each for each in module.modules() if isinstance(each, nn.Conv2d)}


def test_a_classifier_that_computes_in_fewer_bits_has_its_first_convolution_filled():
    net = build("wrn_28_2", (3, 32, 32), 10)
    assert lowered(net)[Filled].in_channels == 3
    assert sum(type(each) is Filled for each in net.modules()) == 1


def test_networks_that_make_images_have_theirs_filled_and_those_of_pixels_summed():
    made = Generator((1, 28, 28), 10, 25, squashed=True)
    lowered(made)
    kinds = [type(each) for each in made.modules() if isinstance(each, nn.Conv2d)]
    assert kinds.count(Summed) == 2  # of the image, in either trunk
    assert kinds.count(Filled) == 3  # of image and label, in either trunk, and the one that gives an image


@pytest.mark.parametrize("module", [nn.Sequential(nn.Conv2d(3, 16, 3)), build("lenet5", (1, 28, 28), 10)])
def test_networks_of_others_and_those_in_full_precision_stay_as_they_are(module):
    assert set(lowered(module)) == {nn.Conv2d}


def test_with_full_precision_asked_for_nothing_is_filled():
    assert set(lowered(build("wrn_28_2", (3, 32, 32), 10), "float32")) == {nn.Conv2d}


def test_in_fewer_bits_filled_networks_give_what_plain_ones_give():
    torch.manual_seed(0)
    plain, filled = (Generator((1, 28, 28), 10, 25, squashed=True) for _ in range(2))
    filled.load_state_dict(plain.state_dict())
    Execution().lower(plain, torch.device("cuda"))
    lowered(filled)
    x, label, noise = torch.rand(6, 1, 28, 28), torch.eye(10)[:6], torch.randn(6, 25)
    for found, wanted in zip(filled(x, label, noise), plain(x, label, noise), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)


def test_kernels_of_this_package_lie_with_channels_last_and_those_of_others_as_they_were():
    own, others = Generator((1, 28, 28), 10, 25, squashed=True), nn.Conv2d(4, 8, 3)
    before = {name: value.clone() for name, value in own.state_dict().items()}
    channels_last(nn.ModuleDict({"own": own, "others": others}))
    kernels = [each for name, each in own.named_parameters() if name.endswith("layers.3.weight") and each.dim() == 4]
    assert len(kernels) == 2  # the second convolution of each trunk, of 32 to 64 channels
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in kernels)
    assert others.weight.is_contiguous()
    assert all(torch.equal(value, before[name]) for name, value in own.state_dict().items())
