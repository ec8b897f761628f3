import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.nets import build


def test_default_has_two_layers_of_256(parameters) -> None:
    assert parameters("mlp", (64,), 10) == 65 * 256 + 257 * 256 + 257 * 10


def test_mlp_2000_has_two_layers_of_2000(parameters) -> None:
    assert parameters("mlp_2000", (2,), 2) == 3 * 2000 + 2001 * 2000 + 2001 * 2


@pytest.mark.parametrize("widths", ["7,5", "7, 5", (7, 5), [7, 5]])
def test_widths_come_as_text_or_numbers(parameters, widths: object) -> None:
    assert parameters("mlp", (3,), 2, widths=widths) == 4 * 7 + 8 * 5 + 6 * 2


@pytest.mark.parametrize("widths", [9, "9", (9,)])
def test_one_width_makes_one_layer(parameters, widths: object) -> None:
    assert parameters("mlp", (3,), 2, widths=widths) == 4 * 9 + 10 * 2


@pytest.mark.parametrize("widths", ["", "8,,8", "wide", "8,0", -3, (), (8, 0)])
def test_impossible_widths_are_refused(widths: object) -> None:
    with pytest.raises(InputError, match="net 'mlp': setting 'widths' must be positive whole numbers"):
        build("mlp", (3,), 2, {"widths": widths})


def test_without_widths_the_network_is_linear() -> None:
    net = build("mlp", (3,), 2, {"widths": "none"})
    x = torch.randn(5, 3)
    torch.testing.assert_close(net(x), x @ net.head.weight.T + net.head.bias)


def test_images_are_flattened() -> None:
    net = build("mlp", (3, 4, 5), 2)
    x = torch.randn(6, 3, 4, 5)
    assert torch.equal(net(x), net(x.reshape(6, 60)))


def test_output_is_the_formula() -> None:
    net = build("mlp", (3,), 2, {"widths": "4"}).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    first, last = net.body[1], net.head
    expected = (x @ first.weight.T + first.bias).clamp(min=0) @ last.weight.T + last.bias
    torch.testing.assert_close(net(x), expected, rtol=1e-12, atol=1e-12)


def test_weights_are_glorot_and_biases_zero() -> None:
    first = build("mlp", (300,), 2, {"widths": 100}).body[1]
    bound = (6 / 400) ** 0.5
    assert 0.99 * bound < first.weight.abs().max() <= bound
    assert not first.bias.any()
