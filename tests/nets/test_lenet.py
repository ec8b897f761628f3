import torch

from labelnoise.nets import build


def test_classic_has_61706_parameters(parameters) -> None:
    assert parameters("lenet5", (1, 28, 28), 10) == 61_706


def test_logistic_normal_variant_has_the_published_sizes(parameters) -> None:
    assert parameters("lenet5_same", (1, 28, 28), 10) == 545_546
    assert parameters("lenet5_same", (1, 28, 28), 20) == 546_396  # location and scale for 10 classes


def test_classic_on_colour_is_the_sum_of_its_layers(parameters) -> None:
    convolutions = (25 * 3 + 1) * 6 + (25 * 6 + 1) * 16
    dense = (16 * 6 * 6 + 1) * 120 + 121 * 84 + 85 * 10  # 32 -> 16 -> 12 -> 6 pixels
    assert parameters("lenet5", (3, 32, 32), 10) == convolutions + dense


def test_variant_on_colour_is_the_sum_of_its_layers(parameters) -> None:
    convolutions = (25 * 3 + 1) * 6 + (25 * 6 + 1) * 16 + (25 * 16 + 1) * 120
    dense = (120 * 8 * 8 + 1) * 84 + 85 * 10
    assert parameters("lenet5_same", (3, 32, 32), 10) == convolutions + dense


def test_classic_shrinks_28_pixels_to_5(sizes) -> None:
    assert sizes("lenet5", (1, 28, 28)) == [28, 14, 10, 5]


def test_variant_shrinks_by_pooling_only(sizes) -> None:
    assert sizes("lenet5_same", (1, 28, 28)) == [28, 14, 7]


def test_both_take_oblong_images() -> None:
    x = torch.randn(2, 1, 20, 31)
    assert [build(name, (1, 20, 31), 4)(x).shape for name in ("lenet5", "lenet5_same")] == [(2, 4), (2, 4)]


def test_variant_has_glorot_convolutions_with_zero_bias() -> None:
    third = build("lenet5_same", (1, 28, 28), 10).body[6]
    bound = (6 / (25 * (16 + 120))) ** 0.5
    assert 0.99 * bound < third.weight.abs().max() <= bound
    assert not third.bias.any()
