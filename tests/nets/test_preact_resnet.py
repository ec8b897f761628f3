import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labelnoise.errors import InputError
from labelnoise.nets import build
from labelnoise.nets.preact_resnet import PreactBlock


def blocks_without_branch(shortcut: str) -> list[PreactBlock]:
    """The blocks of a network in eval mode, where normalising does nothing yet, with branches that return zero."""
    net = build("preact_resnet18", (3, 8, 8), 10, {"shortcut": shortcut}).eval()
    blocks = [module for module in net.modules() if isinstance(module, PreactBlock)]
    for block in blocks:
        nn.init.zeros_(block.branch[-1].weight)
        block.norm.running_var.fill_(1 - block.norm.eps)
    return blocks


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shortcut", ["activated", "raw"])
def test_preact_resnet18_is_the_sum_of_its_layers(parameters, channels: int, shortcut: str) -> None:
    total, inputs = 9 * channels * 64 + 2 * 64, 64
    for width in (64, 128, 256, 512):
        for _ in range(2):
            total += 2 * inputs + 9 * inputs * width + 2 * width + 9 * width * width
            total += inputs * width if inputs != width else 0
            inputs = width
    assert parameters("preact_resnet18", (channels, 32, 32), 10, shortcut=shortcut) == total + 513 * 10


def test_preact_resnet18_on_colour_has_11171274_parameters(parameters) -> None:
    assert parameters("preact_resnet18", (3, 32, 32), 10) == 11_171_274


def test_resnet50_v2_has_the_published_size(parameters) -> None:
    assert parameters("resnet50_v2", (3, 224, 224), 1000) == 25_549_352


@pytest.mark.parametrize(("channels", "stem", "kernel"), [(1, "imagenet", 49), (3, "imagenet", 49), (1, "cifar", 9)])
def test_resnet50_v2_is_the_sum_of_its_layers(parameters, channels: int, stem: str, kernel: int) -> None:
    total, inputs = kernel * channels * 64, 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for _ in range(depth):
            total += 2 * inputs + inputs * width + 2 * width + 9 * width * width + 2 * width + width * 4 * width
            total += inputs * 4 * width if inputs != 4 * width else 0
            inputs = 4 * width
    assert parameters("resnet50_v2", (channels, 32, 32), 10, stem=stem) == total + 2 * 2048 + 2049 * 10


def test_preact_resnet18_shrinks_32_pixels_to_four(sizes) -> None:
    assert sizes("preact_resnet18", (3, 32, 32)) == [32, 16, 8, 4]


def test_resnet50_v2_shrinks_224_pixels_to_seven(sizes) -> None:
    assert sizes("resnet50_v2", (3, 224, 224)) == [112, 56, 28, 14, 7]


def test_activated_shortcuts_all_start_from_the_rectified_input() -> None:
    for block in blocks_without_branch("activated"):
        x = torch.randn(2, block.norm.num_features, 4, 4)
        torch.testing.assert_close(block(x), block.shortcut(F.relu(x)))


def test_raw_shortcuts_carry_the_input_itself_where_they_are_identities() -> None:
    blocks = blocks_without_branch("raw")
    identities = [isinstance(block.shortcut, nn.Identity) for block in blocks]
    assert identities == [True, True, False, True, False, True, False, True]
    for block, identity in zip(blocks, identities, strict=True):
        x = torch.randn(2, block.norm.num_features, 4, 4)
        torch.testing.assert_close(block(x), x if identity else block.shortcut(F.relu(x)))


def test_preact_resnet18_pools_its_last_block_unrectified() -> None:
    net = build("preact_resnet18", (1, 8, 8), 10).eval()
    assert isinstance(net.body[-2], PreactBlock)
    assert (net.features(torch.randn(4, 1, 8, 8)) < 0).any()


def test_resnet50_v2_normalises_and_rectifies_after_its_last_block() -> None:
    with torch.device("meta"):
        body = build("resnet50_v2", (3, 32, 32), 10).body
    assert [type(layer) for layer in body[-4:-1]] == [PreactBlock, nn.BatchNorm2d, nn.ReLU]


def test_unknown_shortcut_is_refused() -> None:
    with pytest.raises(InputError, match="setting 'shortcut' cannot be 'row'; did you mean 'raw'"):
        build("preact_resnet18", (3, 32, 32), 10, {"shortcut": "row"})
