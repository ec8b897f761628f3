import pytest
import torch
from torch import nn

from labelnoise.nets.causal_images import PLANS, ImageDecoder, ImageTrunk, image_plan


@pytest.mark.parametrize(
    ("shape", "side"), [((1, 28, 28), 28), ((3, 32, 32), 32), ((3, 224, 224), 224), ((1, 8, 8), 0), ((3, 28, 32), 0)]
)
def test_three_sizes_of_square_images_have_a_plan(shape, side):
    assert image_plan(shape) is PLANS.get(side)


def test_points_have_no_plan():
    assert image_plan((28,)) is None


@pytest.mark.parametrize(
    ("side", "down", "up"),
    [
        (28, [14, 7, 4, 2], [2, 4, 8, 16, 31, 28]),
        (32, [16, 8, 4, 2], [2, 4, 8, 16, 32]),
        (224, [110, 53, 25, 11, 4], [4, 11, 25, 53, 109, 224]),
    ],
)
def test_maps_have_the_published_sizes(side, down, up):
    def sizes(layers, x):
        seen = []
        for layer in layers:
            x = layer(x)
            if x.ndim == 4 and (not seen or x.shape[-1] != seen[-1]):
                seen.append(x.shape[-1])
        return seen

    with torch.device("meta"):
        trunk, decoder = ImageTrunk((3, side, side), 10, PLANS[side]), ImageDecoder((3, side, side), 35, PLANS[side])
        assert sizes(trunk.layers, torch.empty(2, 4, side, side)) == down
        assert sizes(decoder.layers, torch.empty(2, 35)) == up


def test_a_label_enters_as_one_linear_channel_beside_the_image():
    trunk, seen = ImageTrunk((2, 28, 28), 3, PLANS[28]), []
    trunk.layers.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    x, label = torch.rand(2, 2, 28, 28), torch.tensor([[1.0, 0, 0], [0, 0.5, 0.5]])
    assert trunk(x, label).shape == (2, trunk.features) == (2, 1024)
    plane = (label @ trunk.label.weight.T + trunk.label.bias).reshape(2, 28, 28)
    mixed = torch.einsum("oi,bihw->bohw", trunk.image.weight[:, :, 0, 0], x) + trunk.image.bias[:, None, None]
    torch.testing.assert_close(seen[0][:, 2], plane)
    torch.testing.assert_close(seen[0][:, :2], mixed)


@pytest.mark.parametrize("side", PLANS)
def test_every_block_is_a_convolution_batch_norm_and_a_leaky_relu_and_nothing_follows_the_last(side):
    with torch.device("meta"):
        trunk, decoder = ImageTrunk((3, side, side), 10, PLANS[side]), ImageDecoder((3, side, side), 35, PLANS[side])
    depth, norm = len(PLANS[side].widths), [nn.BatchNorm2d, nn.LeakyReLU]
    assert [type(layer) for layer in trunk.layers] == [nn.Conv2d, *norm] * depth + [nn.Flatten]
    up = [nn.ConvTranspose2d, *norm] * depth
    assert [type(layer) for layer in decoder.layers] == [nn.Linear, nn.Unflatten, *up, nn.Conv2d]
    layers = [*trunk.layers, *decoder.layers]
    assert {layer.negative_slope for layer in layers if isinstance(layer, nn.LeakyReLU)} == {0.01}
    assert all(layer.bias is not None for layer in layers if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d))


def test_images_and_features_in_bfloat16_are_nearly_those_in_float32():
    trunk, decoder = ImageTrunk((1, 28, 28), 10, PLANS[28]), ImageDecoder((1, 28, 28), 35, PLANS[28])
    x, z, label = torch.rand(16, 1, 28, 28), torch.randn(16, 25), torch.rand(16, 10).softmax(-1)
    exact = trunk(x, label), decoder(z, label)
    trunk.precision = decoder.precision = torch.bfloat16
    for rough, full in zip((trunk(x, label), decoder(z, label)), exact, strict=True):
        assert rough.dtype == torch.float32
        assert 0 < (rough - full).norm() / full.norm() < 0.03
