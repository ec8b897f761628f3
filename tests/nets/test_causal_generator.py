import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.nets.causal_generator import Generative, Generator
from labelnoise.rng import Rng
from labelnoise.types import DataSpec


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("shape", "classes", "latent", "published"),
    [
        ((1, 28, 28), 10, 25, (448_964, 434_433, 407_964)),
        ((3, 32, 32), 10, 25, (452_190, 434_787, 411_190)),
        ((3, 32, 32), 100, 25, (544_350, 526_947, 595_600)),
        ((3, 224, 224), 14, 50, (10_111_120, 9_147_747, 9_406_522)),
        ((3, 224, 224), 14, 100, (10_930_420, 9_557_347, 9_406_522)),
        ((2,), 2, 1, (37, 32, 37)),
        ((2,), 2, 2, (49, 37, 37)),
    ],
)
def test_encoder_and_decoders_have_the_published_numbers_of_parameters(shape, classes, latent, published):
    with torch.device("meta"):
        net = Generator(shape, classes, latent, squashed=True)
    assert (count(net.z_encoder), count(net.x_decoder), count(net.t_decoder)) == published
    assert count(net) == sum(published)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 224, 224), (1, 8, 8), (3, 5, 7), (2,), (13,)])
def test_outputs_have_the_shapes_of_what_they_stand_for(shape):
    with torch.device("meta"):
        made = Generator(shape, 5, 4, squashed=False)(torch.empty(3, *shape), torch.empty(3, 5), torch.empty(3, 4))
    assert made.mean.shape == made.log_variance.shape == (3, 4)
    assert made.reconstruction.shape == (3, *shape)
    assert made.noisy_logits.shape == (3, 5)


@pytest.mark.parametrize("shape", [(1, 28, 28), (6,)])
def test_the_given_label_teaches_all_networks_and_the_classifier(shape):
    net, label = Generator(shape, 3, 4, squashed=False), torch.rand(4, 3, requires_grad=True)
    net(torch.rand(4, *shape), label, torch.randn(4, 4)).noisy_logits[:, 0].sum().backward()
    assert label.grad.abs().sum() > 0
    for part in (net.z_encoder, net.x_decoder, net.t_decoder):
        assert any(parameter.grad is not None and parameter.grad.any() for parameter in part.parameters())


def test_a_t_decoder_that_reads_the_input_teaches_neither_encoder_nor_decoder_of_x():
    net = Generator((6,), 3, 4, squashed=False, from_input=True)
    net(torch.rand(4, 6), torch.rand(4, 3), torch.randn(4, 4)).noisy_logits.sum().backward()
    assert all(parameter.grad is None for part in (net.z_encoder, net.x_decoder) for parameter in part.parameters())


def test_points_are_made_by_the_published_layers():
    net = Generator((2,), 2, 1, squashed=False).double()
    x, label, noise = torch.randn(5, 2).double(), torch.rand(5, 2).double(), torch.randn(5, 1).double()

    def linear(layer, *parts):
        return torch.cat(parts, 1) @ layer.weight.T + layer.bias

    encoder, decoder, judge = net.z_encoder, net.x_decoder, net.t_decoder
    hidden = linear(encoder.trunk.layers[0], x, label).clamp(min=0)
    mean, log_variance = (nn.functional.elu(linear(head, hidden)) for head in (encoder.mean, encoder.log_variance))
    z = mean + log_variance.exp().sqrt() * noise
    guess = linear(decoder.layers[2], linear(decoder.layers[0], z, label).clamp(min=0))
    noisy = linear(judge.head, linear(judge.trunk.layers[0], guess, label).clamp(min=0))
    for found, expected in zip(net(x, label, noise), (mean, log_variance, guess, noisy), strict=True):
        torch.testing.assert_close(found, expected)


def test_rows_with_several_labels_are_made_as_if_they_were_several_rows():
    net, x, noise = Generator((6,), 3, 4, squashed=False), torch.rand(2, 6), torch.randn(2, 4)
    label = torch.rand(6, 3)
    for found, expected in zip(net(x, label, noise), net(x.repeat(3, 1), label, noise.repeat(3, 1)), strict=True):
        assert torch.equal(found, expected)


def test_row_i_of_a_transition_is_what_true_class_i_gives_at_the_mean_of_z():
    net, x = Generator((1, 28, 28), 3, 4, squashed=True).eval(), torch.rand(5, 1, 28, 28)
    found = net.transition(x)
    assert found.shape == (5, 3, 3)
    for i in range(3):
        label = torch.eye(3)[[i] * 5]
        given = net(x, label, torch.zeros(5, 4)).noisy_logits.softmax(-1)
        torch.testing.assert_close(found[:, i], given)


def test_a_huge_log_variance_leaves_all_outputs_finite():
    net = Generator((6,), 3, 4, squashed=False)
    net.z_encoder.log_variance.bias.data.fill_(1e4)
    assert all(each.isfinite().all() for each in net(torch.rand(4, 6), torch.rand(4, 3), torch.randn(4, 4)))


@pytest.mark.parametrize(
    ("output", "shape", "squashed"),
    [("auto", (1, 8, 8), True), ("auto", (6,), False), ("sigmoid", (6,), True), ("linear", (1, 28, 28), False)],
)
def test_reconstructions_end_in_a_sigmoid_for_images_or_where_it_is_asked_for(output, shape, squashed):
    net = Generative(output=output).generator(shape, 3)
    net.x_decoder.layers.register_forward_hook(lambda *given: given[2] + 100)
    made = net.expected(torch.rand(2, *shape), torch.rand(2, 3))
    assert (made.reconstruction <= 1).all() == squashed


@pytest.mark.parametrize(("shape", "size"), [((2,), 1), ((3, 224, 224), 100), ((1, 28, 28), 25), ((13,), 25)])
def test_z_has_the_size_of_the_paper_unless_told_otherwise(shape, size):
    spec = DataSpec(shape, 3, 10, lambda head: nn.Identity())
    assert Generative().drawn(spec, 7, Rng(0))["z"].shape == (7, size)
    assert Generative(latent=6).drawn(spec, 7, Rng(0))["z"].shape == (7, 6)
    with torch.device("meta"):
        assert Generative().generator(shape, 3).latent == size


@pytest.mark.parametrize(("noise", "mean", "variance"), [("normal", 0, 1), ("uniform", 0.5, 1 / 12)])
def test_the_noise_of_z_is_normal_or_as_in_the_authors_code_uniform(noise, mean, variance):
    z = Generative(noise=noise, latent=10).drawn(DataSpec((6,), 3, 10, lambda head: nn.Identity()), 10_000, Rng(0))["z"]
    assert z.mean().item() == pytest.approx(mean, abs=0.02)
    assert z.var().item() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"noise": "none"}, "noise must be normal, uniform, not 'none'"),
        ({"t_input": "x"}, "t_input must be reconstruction, input, not 'x'"),
        ({"output": "tanh"}, "output must be auto, sigmoid, linear, not 'tanh'"),
        ({"latent": -1}, "latent must be a positive number, or 0 for the paper's, not -1"),
        ({"distance": "l2"}, "distance must be"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        Generative(**settings)
