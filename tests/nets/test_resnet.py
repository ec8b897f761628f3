import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.nets import build
from labelnoise.nets.resnet import ResidualBlock, bottleneck_branch


@pytest.mark.parametrize(
    ("name", "outline", "stem", "published"),  # outline: input channels, classes
    [
        ("resnet18", (1, 10), "imagenet", 11_175_370),
        ("resnet34", (3, 10), "imagenet", 21_289_802),
        ("resnet50", (3, 100), "imagenet", 23_712_932),
        ("resnet50", (3, 14), "imagenet", 23_536_718),
        ("resnet18", (3, 1000), "imagenet", 11_689_512),
        ("resnet34", (3, 1000), "imagenet", 21_797_672),
        ("resnet50", (3, 1000), "imagenet", 25_557_032),
        ("resnet18", (3, 10), "cifar", 11_173_962),
        ("resnet34", (3, 10), "cifar", 21_282_122),
        ("resnet50", (3, 10), "cifar", 23_520_842),
    ],
)
def test_size_is_the_published_one(parameters, name: str, outline: tuple[int, int], stem: str, published: int) -> None:
    channels, classes = outline
    assert parameters(name, (channels, 32, 32), classes, stem=stem) == published


def test_cifar_stem_on_one_channel_saves_two_of_three_kernels(parameters) -> None:
    assert parameters("resnet18", (1, 28, 28), 10) == 11_173_962 - 2 * 9 * 64


@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50"])
def test_imagenet_stem_shrinks_32_pixels_to_one(sizes, name: str) -> None:
    assert sizes(name, (3, 32, 32), stem="imagenet") == [16, 8, 4, 2, 1]


@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50"])
def test_cifar_stem_shrinks_32_pixels_to_four(sizes, name: str) -> None:
    assert sizes(name, (3, 32, 32)) == [32, 16, 8, 4]


def test_large_images_have_the_imagenet_stem_by_default(sizes) -> None:
    assert sizes("resnet18", (3, 224, 224)) == [112, 56, 28, 14, 7]


def test_block_rectifies_the_sum() -> None:
    x = torch.tensor([[-2.0, 3.0]])
    assert torch.equal(ResidualBlock(nn.Identity(), nn.Identity())(x), torch.tensor([[0.0, 6.0]]))


def test_bottleneck_has_its_stride_on_the_3x3() -> None:
    branch = bottleneck_branch(16, 64, 2)
    convolutions = [layer for layer in branch if isinstance(layer, nn.Conv2d)]
    assert [(layer.kernel_size[0], layer.stride[0], layer.out_channels) for layer in convolutions] == [
        (1, 1, 16),
        (3, 2, 16),
        (1, 1, 64),
    ]


def test_convolutions_are_he_normal_by_fan_out() -> None:
    stem = build("resnet18", (3, 32, 32), 10).body[0].weight  # 1,728 draws; by fan-in the variance were 2 / 27
    torch.testing.assert_close(stem.var(), torch.tensor(2 / (9 * 64)), rtol=0.2, atol=0)


def test_unknown_stem_is_refused() -> None:
    with pytest.raises(InputError, match="net 'resnet18': setting 'stem' cannot be 'cifer'; did you mean 'cifar'"):
        build("resnet18", (3, 32, 32), 10, {"stem": "cifer"})
