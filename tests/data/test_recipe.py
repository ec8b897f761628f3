import pytest
import torch

from labelnoise.data.recipe import recipe
from labelnoise.nets import build


@pytest.mark.parametrize(
    ("shape", "net"),
    [
        ((1,), "mlp"),
        ((768,), "mlp"),
        ((1, 8, 8), "mlp"),
        ((3, 11, 40), "mlp"),
        ((1, 12, 12), "lenet5"),
        ((1, 28, 28), "lenet5"),
        ((1, 64, 64), "lenet5"),
        ((3, 12, 12), "resnet32"),
        ((4, 64, 32), "resnet32"),
        ((1, 65, 65), "resnet18"),
        ((3, 64, 65), "resnet18"),
    ],
)
def test_the_network_follows_the_shape_and_takes_it(shape, net):
    assert recipe(shape, 1000).net == net
    assert build(net, shape, 3).eval()(torch.zeros(2, *shape)).shape == (2, 3)


@pytest.mark.parametrize(
    ("samples", "epochs", "batch"),
    [
        (1, 40, 64),
        (10_000, 40, 64),
        (10_001, 20, 128),
        (50_000, 20, 128),
        (50_001, 20, 256),
        (100_000, 20, 256),
        (100_001, 10, 256),
    ],
)
def test_more_rows_mean_fewer_epochs_and_larger_batches(samples, epochs, batch):
    assert recipe((2,), samples)[1:] == (epochs, batch)
