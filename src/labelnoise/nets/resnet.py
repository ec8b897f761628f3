"""Residual networks of 18, 34 and 50 layers.

He et al., Deep residual learning for image recognition, CVPR 2016. Convolutions He-normal by fan-out. The stem must be
told with every result: the label-noise papers often put the ImageNet stem on 32-pixel images, which costs accuracy.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.nets.base import Net, image_shape, register
from labelnoise.nets.blocks import Block, MeanPool, conv, he_normal, stages, stem_kind, stem_layers
from labelnoise.types import Head


class ResidualBlock(nn.Module):
    """relu(branch(x) + shortcut(x))."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        return F.relu(self.branch(x) + self.shortcut(x))


def basic_branch(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Two 3x3 convolutions, each normalised."""
    return nn.Sequential(
        conv(inputs, outputs, 3, stride),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        conv(outputs, outputs, 3),
        nn.BatchNorm2d(outputs),
    )


def bottleneck_branch(inputs: int, outputs: int, stride: int) -> nn.Module:
    """A 3x3 convolution at a quarter of the channels between two 1x1 ones; the stride is on the 3x3."""
    width = outputs // 4
    return nn.Sequential(
        conv(inputs, width, 1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, width, 3, stride),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, outputs, 1),
        nn.BatchNorm2d(outputs),
    )


def _basic(inputs: int, outputs: int, stride: int) -> nn.Module:
    return ResidualBlock(basic_branch(inputs, outputs, stride), _shortcut(inputs, outputs, stride))


def _bottleneck(inputs: int, outputs: int, stride: int) -> nn.Module:
    return ResidualBlock(bottleneck_branch(inputs, outputs, stride), _shortcut(inputs, outputs, stride))


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    if inputs == outputs and stride == 1:
        return nn.Identity()
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


@register("resnet18")
def resnet18(shape: tuple[int, ...], head: Head, *, stem: str | None = None) -> nn.Module:
    """ResNet-18, stem "imagenet" or "cifar" (the default below 64 pixels)."""
    return _resnet(shape, head, stem, block=_basic, features=512, depths=(2, 2, 2, 2))


@register("resnet34")
def resnet34(shape: tuple[int, ...], head: Head, *, stem: str | None = None) -> nn.Module:
    """ResNet-34, stem "imagenet" or "cifar" (the default below 64 pixels)."""
    return _resnet(shape, head, stem, block=_basic, features=512, depths=(3, 4, 6, 3))


@register("resnet50")
def resnet50(shape: tuple[int, ...], head: Head, *, stem: str | None = None) -> nn.Module:
    """ResNet-50, stem "imagenet" or "cifar" (the default below 64 pixels)."""
    return _resnet(shape, head, stem, block=_bottleneck, features=2048, depths=(3, 4, 6, 3))


def _resnet(
    shape: tuple[int, ...], head: Head, stem: str | None, *, block: Block, features: int, depths: tuple[int, ...]
) -> nn.Module:
    channels, *size = image_shape(shape)
    outputs = [features // 8, features // 4, features // 2, features]
    body = nn.Sequential(
        *stem_layers(channels, stem_kind(stem, size)),
        *stages(block, 64, outputs, depths),
        MeanPool(),
    )
    return Net(he_normal(body, "fan_out"), features, head)
