"""Wide residual networks.

Zagoruyko and Komodakis, Wide residual networks, BMVC 2016; as the logistic-normal paper uses them.
"""

from torch import nn

from labelnoise.nets.base import Net, image_shape, register
from labelnoise.nets.blocks import MeanPool, conv, he_normal, projection, stages
from labelnoise.nets.preact_resnet import PreactBlock, basic_branch
from labelnoise.types import Head


@register("wrn_28_2")
def wrn_28_2(shape: tuple[int, ...], head: Head) -> nn.Module:
    """WRN-28-2: three stages of four pre-activated blocks of 32, 64 and 128 channels, 1.5 million parameters.

    Every shortcut starts from the raw input of its block, the projections too. No dropout. Convolutions He-normal by
    fan-in; normalisation with eps 1e-5 and running averages of momentum 0.1.
    """
    channels, _, _ = image_shape(shape)
    body = nn.Sequential(
        conv(channels, 16, 3),
        *stages(_block, 16, (32, 64, 128), (4, 4, 4)),
        nn.BatchNorm2d(128),
        nn.ReLU(),
        MeanPool(),
    )
    return Net(he_normal(body, "fan_in"), 128, head)


def _block(inputs: int, outputs: int, stride: int) -> nn.Module:
    return PreactBlock(inputs, basic_branch(inputs, outputs, stride), projection(inputs, outputs, stride), raw=True)
