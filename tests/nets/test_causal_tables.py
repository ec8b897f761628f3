import torch
from torch import nn

from labelnoise.nets import build
from labelnoise.nets.causal_tables import TableDecoder, TableTrunk


def test_the_classifier_of_points_has_the_published_number_of_parameters(parameters):
    assert parameters("mlp_moon", (2,), 2) == 427


def test_the_baseline_of_points_has_the_published_number_of_parameters(parameters):
    assert parameters("mlp", (2,), 2, widths="5,5") == 57


def test_the_classifier_of_points_has_ten_normalised_layers_after_the_first():
    kinds = [type(layer) for layer in build("mlp_moon", (2,), 2).body]
    assert kinds == [nn.Flatten, nn.Linear, nn.ReLU, *10 * [nn.Linear, nn.BatchNorm1d, nn.ReLU]]


def test_a_trunk_reads_input_and_label_by_one_layer():
    trunk = TableTrunk((2, 3), 4, 7).double()
    x, label, first = torch.randn(5, 2, 3).double(), torch.rand(5, 4).double(), trunk.layers[0]
    expected = (torch.cat([x.reshape(5, 6), label], 1) @ first.weight.T + first.bias).clamp(min=0)
    torch.testing.assert_close(trunk(x, label), expected)
    assert trunk.features == 7


def test_a_decoder_returns_the_shape_of_an_input():
    decoder = TableDecoder((2, 3), 5, 7).double()
    z, label = torch.randn(6, 1).double(), torch.rand(6, 4).double()
    first, last = decoder.layers[0], decoder.layers[2]
    hidden = (torch.cat([z, label], 1) @ first.weight.T + first.bias).clamp(min=0)
    torch.testing.assert_close(decoder(z, label), (hidden @ last.weight.T + last.bias).reshape(6, 2, 3))
