import torch

from labelnoise.nets import Dropout, build


def test_parameters_are_the_sum_of_its_layers(parameters) -> None:
    assert parameters("cnn_mnist", (1, 28, 28), 10) == (25 + 1) * 16 + (25 * 16 + 1) * 32 + 513 * 10
    assert parameters("cnn_mnist", (3, 32, 32), 10) == (75 + 1) * 16 + (25 * 16 + 1) * 32 + (32 * 5 * 5 + 1) * 10


def test_convolutions_do_not_pad(sizes) -> None:
    assert sizes("cnn_mnist", (1, 28, 28)) == [24, 12, 8, 4]


def test_features_are_512_of_which_half_are_dropped_in_training() -> None:
    net = build("cnn_mnist", (1, 28, 28), 10)
    assert [module.rate for module in net.modules() if isinstance(module, Dropout)] == [0.5]
    x = torch.rand(4, 1, 28, 28)
    whole = net.eval().features(x)
    torch.manual_seed(0)
    dropped = net.train().features(x)
    assert whole.shape == (4, 512)
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
    assert (dropped == 0).sum() > (whole == 0).sum()
