"""Narrow residual networks of 32 and 56 layers for 32-pixel images.

He et al., Deep residual learning for image recognition, CVPR 2016, section 4.2; used by Lukasik et al., Does label
smoothing mitigate label noise?, ICML 2020. Fidelity: the latter do not name their shortcut, so it is the one that He et
al. have on these images, option A: the identity with zeros for new channels, without parameters. Convolutions He-normal
by fan-out.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.nets.base import Net, image_shape, register
from labelnoise.nets.blocks import MeanPool, conv, he_normal, stages
from labelnoise.nets.resnet import ResidualBlock, basic_branch
from labelnoise.types import Head


class PaddedShortcut(nn.Module):
    """Every `stride`-th pixel, followed by so many channels of zeros."""

    def __init__(self, stride: int, zeros: int) -> None:
        super().__init__()
        self.stride = stride
        self.zeros = zeros

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C + zeros, H / stride, W / stride)."""
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.zeros))


@register("resnet32")
def resnet32(shape: tuple[int, ...], head: Head) -> nn.Module:
    """ResNet-32: three stages of five blocks of 16, 32 and 64 channels; 464,154 parameters for 10 classes of colour."""
    return _cifar_resnet(shape, head, depth=5)


@register("resnet56")
def resnet56(shape: tuple[int, ...], head: Head) -> nn.Module:
    """ResNet-56: three stages of nine blocks of 16, 32 and 64 channels; 853,018 parameters for 10 classes of colour."""
    return _cifar_resnet(shape, head, depth=9)


def _cifar_resnet(shape: tuple[int, ...], head: Head, depth: int) -> nn.Module:
    channels, _, _ = image_shape(shape)
    body = nn.Sequential(
        conv(channels, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *stages(_block, 16, (16, 32, 64), (depth, depth, depth)),
        MeanPool(),
    )
    return Net(he_normal(body, "fan_out"), 64, head)


def _block(inputs: int, outputs: int, stride: int) -> nn.Module:
    return ResidualBlock(basic_branch(inputs, outputs, stride), PaddedShortcut(stride, outputs - inputs))
