import pytest
import torch
from torch import nn

from labelnoise.nets import build
from labelnoise.nets.preact_resnet import PreactBlock


@pytest.mark.parametrize(
    ("outputs", "published"),
    [(10, 1_467_610), (20, 1_468_900), (200, 1_492_120)],  # logits for 10; location and scale for 10 and for 100
)
def test_size_is_the_published_one(parameters, outputs: int, published: int) -> None:
    assert parameters("wrn_28_2", (3, 32, 32), outputs) == published


def test_one_channel_saves_two_of_three_kernels_of_the_first_convolution(parameters) -> None:
    assert parameters("wrn_28_2", (1, 28, 28), 10) == 1_467_610 - 2 * 9 * 16


def test_32_pixels_shrink_to_eight(sizes) -> None:
    assert sizes("wrn_28_2", (3, 32, 32)) == [32, 16, 8]


def test_every_shortcut_starts_from_the_raw_input() -> None:
    net = build("wrn_28_2", (3, 8, 8), 10)
    for block in net.modules():
        if isinstance(block, PreactBlock):
            nn.init.zeros_(block.branch[-1].weight)
            x = torch.randn(2, block.norm.num_features, 4, 4)
            torch.testing.assert_close(block(x), block.shortcut(x))


def test_convolutions_are_he_normal_by_fan_in() -> None:
    convolutions = [layer for layer in build("wrn_28_2", (3, 32, 32), 10).modules() if isinstance(layer, nn.Conv2d)]
    for layer in convolutions:
        fan = layer.in_channels * layer.kernel_size[0] ** 2
        spread = 4 * (2 / layer.weight.numel()) ** 0.5  # of a variance, relative, at four standard errors
        assert abs(layer.weight.var() * fan / 2 - 1) < spread


def test_normalisation_has_the_papers_constants() -> None:
    norms = [layer for layer in build("wrn_28_2", (3, 32, 32), 10).modules() if isinstance(layer, nn.BatchNorm2d)]
    assert {(norm.eps, norm.momentum) for norm in norms} == {(1e-5, 0.1)}
    assert len(norms) == 25
