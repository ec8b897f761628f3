import pytest
import torch

from labelnoise.nets.cifar_resnet import PaddedShortcut


@pytest.mark.parametrize(("name", "published"), [("resnet32", 464_154), ("resnet56", 853_018)])
def test_size_is_the_published_one(parameters, name: str, published: int) -> None:
    assert parameters(name, (3, 32, 32), 10) == published


@pytest.mark.parametrize(("name", "depth"), [("resnet32", 5), ("resnet56", 9)])
def test_size_on_one_channel_is_the_sum_of_its_layers(parameters, name: str, depth: int) -> None:
    total, inputs = 9 * 16 + 2 * 16, 16
    for width in (16, 32, 64):
        for _ in range(depth):
            total += 9 * inputs * width + 9 * width * width + 4 * width
            inputs = width
    assert parameters(name, (1, 28, 28), 10) == total + 65 * 10


@pytest.mark.parametrize("name", ["resnet32", "resnet56"])
def test_32_pixels_shrink_to_eight(sizes, name: str) -> None:
    assert sizes(name, (3, 32, 32)) == [32, 16, 8]


def test_shortcut_takes_every_other_pixel_and_adds_channels_of_zeros() -> None:
    x = torch.randn(2, 3, 5, 5)
    out = PaddedShortcut(stride=2, zeros=4)(x)
    assert out.shape == (2, 7, 3, 3)
    assert torch.equal(out[:, :3], x[:, :, [0, 2, 4]][..., [0, 2, 4]])
    assert not out[:, 3:].any()


def test_shortcut_that_changes_nothing_is_the_identity() -> None:
    x = torch.randn(2, 3, 4, 4)
    assert torch.equal(PaddedShortcut(stride=1, zeros=0)(x), x)
