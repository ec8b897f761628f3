import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.nets.blocks import MeanPool, conv, he_normal, projection, stages, stem_kind, stem_layers


@pytest.mark.parametrize("kernel", [1, 3, 7])
@pytest.mark.parametrize(("stride", "size"), [(1, 7), (2, 4)])
def test_convolution_leaves_the_ceiling_of_a_side_over_the_stride(kernel: int, stride: int, size: int) -> None:
    assert conv(2, 3, kernel, stride)(torch.randn(1, 2, 7, 7)).shape == (1, 3, size, size)


def test_convolution_has_no_bias() -> None:
    assert [key for key, _ in conv(2, 3, 3).named_parameters()] == ["weight"]


def test_projection_is_the_identity_only_where_the_shape_stays() -> None:
    assert isinstance(projection(4, 4, 1), nn.Identity)
    assert projection(4, 4, 2)(torch.randn(1, 4, 8, 8)).shape == (1, 4, 4, 4)
    assert projection(4, 6, 1)(torch.randn(1, 4, 8, 8)).shape == (1, 6, 8, 8)


def test_stages_halve_the_image_in_the_first_block_of_each_but_the_first() -> None:
    calls = []

    def block(inputs: int, outputs: int, stride: int) -> nn.Module:
        calls.append((inputs, outputs, stride))
        return nn.Identity()

    stages(block, 3, (8, 16), (2, 3))
    assert calls == [(3, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 16, 1)]


@pytest.mark.parametrize(("size", "kind"), [((63, 200), "cifar"), ((64, 64), "imagenet")])
def test_stem_goes_by_the_smaller_side(size: tuple[int, int], kind: str) -> None:
    assert stem_kind(None, size) == kind


def test_chosen_stem_stands_whatever_the_size() -> None:
    assert stem_kind("imagenet", (32, 32)) == "imagenet"


def test_unknown_stem_is_refused() -> None:
    with pytest.raises(InputError, match="setting 'stem' cannot be 'image'"):
        stem_kind("image", (32, 32))


@pytest.mark.parametrize(("kind", "size"), [("imagenet", 8), ("cifar", 32)])
@pytest.mark.parametrize("activated", [True, False])
def test_stem_gives_64_channels_of_its_size(kind: str, size: int, activated: bool) -> None:
    layers = stem_layers(3, kind, activated=activated)
    assert nn.Sequential(*layers)(torch.randn(2, 3, 32, 32)).shape == (2, 64, size, size)
    assert any(isinstance(layer, nn.BatchNorm2d) for layer in layers) == activated


def test_mean_pool_is_the_mean_over_pixels() -> None:
    x = torch.arange(12.0).reshape(1, 2, 2, 3)
    assert torch.equal(MeanPool()(x), torch.tensor([[2.5, 8.5]]))


@pytest.mark.parametrize(("fan", "count"), [("fan_in", 9 * 40), ("fan_out", 9 * 80)])
def test_he_normal_has_variance_two_over_the_fan(fan: str, count: int) -> None:
    weight = he_normal(conv(40, 80, 3), fan).weight  # 28,800 draws
    torch.testing.assert_close(weight.var(), torch.tensor(2 / count), rtol=0.05, atol=0)
    assert weight.abs().max() > 3 * (2 / count) ** 0.5
