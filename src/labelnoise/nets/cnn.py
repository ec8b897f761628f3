"""A small convolutional network with dropout.

Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021 (MNIST and Fashion-MNIST).
"""

from torch import nn

from labelnoise.nets.base import Net, image_shape, register
from labelnoise.nets.dropout import Dropout
from labelnoise.types import Head


@register("cnn_mnist")
def cnn_mnist(shape: tuple[int, ...], head: Head) -> nn.Module:
    """Two unpadded 5x5 convolutions of 16 and 32 channels, then dropout of 0.5: 512 features of 28 pixels.

    Weights are torch's default.
    """
    channels, height, width = image_shape(shape, smallest=16)
    body = nn.Sequential(
        nn.Conv2d(channels, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        Dropout(0.5),
    )
    return Net(body, 32 * _shrunk(height) * _shrunk(width), head)


def _shrunk(size: int) -> int:
    """What two rounds of a 5-pixel kernel and halving leave of a side."""
    return ((size - 4) // 2 - 4) // 2
