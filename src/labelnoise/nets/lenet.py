"""LeNet-5, for 28-pixel digits.

LeCun et al., Gradient-based learning applied to document recognition, 1998. Fidelity: ReLU and max-pooling, as every
label-noise paper has it, where the original has tanh, trained averages and a sparse second convolution.
"""

from torch import nn

from labelnoise.nets.base import Net, glorot, image_shape, register
from labelnoise.types import Head


@register("lenet5")
def lenet5(shape: tuple[int, ...], head: Head) -> nn.Module:
    """The classic: two convolutions and two dense layers, 61,706 parameters for 10 classes of 1x28x28.

    The first convolution pads 28 pixels to the 32 of the original, the second pads nothing. Weights: torch's default.
    """
    channels, height, width = image_shape(shape, smallest=12)
    body = nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2), 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
    )
    return Net(body, 84, head)


@register("lenet5_same")
def lenet5_same(shape: tuple[int, ...], head: Head) -> nn.Module:
    """The logistic-normal paper's: three padded convolutions, 545,546 parameters for 10 classes of 1x28x28.

    The third convolution has 120 channels of a quarter of the size. Glorot-uniform weights, zero biases.
    """
    channels, height, width = image_shape(shape, smallest=4)
    body = nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 120, 5, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(120 * (height // 4) * (width // 4), 84),
        nn.ReLU(),
    )
    return Net(glorot(body), 84, head)
