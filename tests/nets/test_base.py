import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from labelnoise.errors import InputError
from labelnoise.nets import NETS, Dropout, Net, build, make_head
from labelnoise.nets.base import glorot, image_shape, one_of

SMALLEST = {"lenet5": 12, "lenet5_same": 4, "cnn_mnist": 16}
SEEDS = torch.tensor([5, 2**40 + 7])


def packable() -> list[tuple[str, int, dict[str, str]]]:
    nets = [(name, SMALLEST.get(name, 8), {}) for name in NETS]
    return [*nets, ("resnet18", 32, {"stem": "imagenet"}), ("preact_resnet18", 8, {"shortcut": "raw"})]


def two_states(net: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stacked weights and buffers of two runs: the net's own, and the same turned upside down, which costs least."""
    weights = {key: torch.stack([w, w.flip(0)]).detach() for key, w in net.named_parameters()}
    for w in weights.values():
        w.requires_grad_(w.numel() < 1_000_000)  # the others take the same path, only longer
    buffers = {key: torch.stack([b, b]) for key, b in net.named_buffers()}
    seeds = {f"{key}.seed": SEEDS for key, module in net.named_modules() if isinstance(module, Dropout)}
    return weights, buffers | seeds


def gradients(out: Tensor, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    learnt = {key: w for key, w in weights.items() if w.requires_grad}
    return dict(zip(learnt, torch.autograd.grad(out.square().sum(), tuple(learnt.values())), strict=True))


def difference(a: Tensor, b: Tensor) -> float:
    return ((a - b).abs().max() / (1 + b.abs().max())).item()


@pytest.mark.parametrize(("name", "size", "settings"), packable())
def test_packed_equals_alone_in_output_gradient_and_batch_statistics(
    name: str, size: int, settings: dict[str, str]
) -> None:
    net = build(name, (1, size, size), 3, settings).double().train()
    x = torch.randn(2, 2 if name.startswith(("resnet34", "resnet50")) else 3, 1, size, size, dtype=torch.float64)
    weights, buffers = two_states(net)
    own_buffers = [{key: b[run].clone() for key, b in buffers.items()} for run in range(2)]

    packed = vmap(lambda w, b, x: functional_call(net, (w, b), (x,)))(weights, buffers, x)
    packed_gradients = gradients(packed, weights)

    for run, own in enumerate(own_buffers):
        own_weights = {key: w[run].detach().requires_grad_(w.requires_grad) for key, w in weights.items()}
        alone = functional_call(net, (own_weights, own), (x[run],))
        assert difference(packed[run], alone) < 1e-9
        for key, gradient in gradients(alone, own_weights).items():
            assert difference(packed_gradients[key][run], gradient) < 1e-10
        for key, buffer in own.items():
            assert difference(buffers[key][run], buffer) < 1e-9


def test_batch_statistics_are_learnt_in_training() -> None:
    net = build("resnet32", (1, 8, 8), 3).train()
    norm = next(module for module in net.modules() if isinstance(module, nn.BatchNorm2d))
    net(torch.randn(4, 1, 8, 8))
    assert norm.num_batches_tracked == 1
    assert norm.running_mean.all()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", list(NETS))
def test_every_net_takes_one_and_three_channels_and_any_head(name: str, channels: int) -> None:
    class Pair(nn.Module):
        def __init__(self, features: int) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(features, 2), nn.Linear(features, 5)

        def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
            return self.left(features), self.right(features)

    with torch.device("meta"):
        net = build(name, (channels, 28, 20), Pair)
        left, right = net(torch.empty(4, channels, 28, 20))
    assert isinstance(net, Net)
    assert (left.shape, right.shape) == ((4, 2), (4, 5))


def test_a_net_is_its_head_on_its_features() -> None:
    net = Net(nn.Flatten(), 6, 4)
    x = torch.randn(5, 2, 3)
    assert torch.equal(net.features(x), x.reshape(5, 6))
    assert torch.equal(net(x), net.head(x.reshape(5, 6)))


def test_layers_compute_in_the_lower_precision_and_return_to_that_of_the_input() -> None:
    net, seen = Net(nn.Linear(6, 8), 8, 4), []
    net.body.register_forward_hook(lambda *given: seen.append(given[-1].dtype))
    x = torch.randn(5, 6)
    exact = net.features(x)
    net.precision = torch.bfloat16
    rough = net.features(x)
    assert seen == [torch.float32, torch.bfloat16]
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, exact, rtol=2**-6, atol=2**-6)


def test_no_net_rectifies_in_place() -> None:
    with torch.device("meta"):
        modules = [module for name in NETS for module in build(name, (3, 32, 32), 10).modules()]
    assert not any(getattr(module, "inplace", False) for module in modules)


@pytest.mark.parametrize("name", [name for name in NETS if not name.startswith("mlp")])
def test_flat_inputs_are_refused_by_convolutional_nets(name: str) -> None:
    with pytest.raises(InputError, match=rf"net '{name}': inputs of shape \(64,\) are no images .* net 'mlp'"):
        build(name, (64,), 10)


@pytest.mark.parametrize(("name", "smallest"), SMALLEST.items())
def test_too_small_images_are_refused_with_the_smallest_size_that_works(name: str, smallest: int) -> None:
    with torch.device("meta"):
        net = build(name, (1, smallest, smallest), 10)
        assert net(torch.empty(2, 1, smallest, smallest)).shape == (2, 10)
    with pytest.raises(InputError, match=f"net '{name}': inputs of {smallest}x{smallest - 1} .* {smallest}x{smallest}"):
        build(name, (1, smallest, smallest - 1), 10)


def test_unknown_net_names_its_neighbour() -> None:
    with pytest.raises(InputError, match="unknown net 'lenett5'; did you mean 'lenet5'"):
        build("lenett5", (3, 32, 32), 10)


def test_unknown_setting_names_its_neighbour() -> None:
    with pytest.raises(InputError, match="net 'resnet18' has no setting 'stems'; did you mean 'stem'"):
        build("resnet18", (3, 32, 32), 10, {"stems": "cifar"})


def test_a_setting_of_a_net_without_any_is_refused() -> None:
    with pytest.raises(InputError, match="net 'lenet5' has no setting 'head'; it has none"):
        build("lenet5", (1, 28, 28), 10, {"head": 3})


def test_linear_head_has_glorot_uniform_weights_and_zero_bias() -> None:
    head = make_head(300, 100)
    bound = (6 / 400) ** 0.5
    assert 0.99 * bound < head.weight.abs().max() <= bound
    torch.testing.assert_close(head.weight.var(), torch.tensor(bound**2 / 3), rtol=0.02, atol=0)  # 30,000 draws
    assert not head.bias.any()


def test_glorot_counts_the_kernel_in_both_fans() -> None:
    convolution = glorot(nn.Conv2d(16, 120, 5))
    bound = (6 / (25 * (16 + 120))) ** 0.5
    assert 0.99 * bound < convolution.weight.abs().max() <= bound
    assert not convolution.bias.any()


def test_image_shape_gives_channels_height_and_width() -> None:
    assert image_shape((3, 20, 30), smallest=20) == (3, 20, 30)


def test_one_of_names_the_nearest_value() -> None:
    with pytest.raises(InputError, match="setting 'stem' cannot be 'cifer'; did you mean 'cifar'"):
        one_of("stem", "cifer", ("imagenet", "cifar"))
