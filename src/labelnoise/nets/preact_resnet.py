"""Residual networks that normalise and rectify before each convolution.

He et al., Identity mappings in deep residual networks, ECCV 2016.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.nets.base import Net, image_shape, one_of, register
from labelnoise.nets.blocks import MeanPool, conv, he_normal, projection, stages, stem_kind, stem_layers
from labelnoise.types import Head


class PreactBlock(nn.Module):
    """branch(h) + shortcut(x if raw else h), where h = relu(norm(x))."""

    def __init__(self, inputs: int, branch: nn.Module, shortcut: nn.Module, *, raw: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.branch = branch
        self.shortcut = shortcut
        self.raw = raw

    def forward(self, x: Tensor) -> Tensor:
        """The block's output, to be normalised by the next one."""
        activated = F.relu(self.norm(x))
        out: Tensor = self.branch(activated) + self.shortcut(x if self.raw else activated)
        return out


def basic_branch(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Two 3x3 convolutions."""
    return nn.Sequential(
        conv(inputs, outputs, 3, stride),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        conv(outputs, outputs, 3),
    )


def _activated(inputs: int, outputs: int, stride: int) -> nn.Module:
    branch = basic_branch(inputs, outputs, stride)
    return PreactBlock(inputs, branch, projection(inputs, outputs, stride), raw=False)


def _raw(inputs: int, outputs: int, stride: int) -> nn.Module:
    shortcut = projection(inputs, outputs, stride)
    return PreactBlock(inputs, basic_branch(inputs, outputs, stride), shortcut, raw=isinstance(shortcut, nn.Identity))


def _bottleneck(inputs: int, outputs: int, stride: int) -> nn.Module:
    width = outputs // 4
    branch = nn.Sequential(
        conv(inputs, width, 1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, width, 3, stride),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, outputs, 1),
    )
    shortcut = projection(inputs, outputs, stride)
    return PreactBlock(inputs, branch, shortcut, raw=isinstance(shortcut, nn.Identity))


BLOCKS = {"activated": _activated, "raw": _raw}


@register("preact_resnet18")
def preact_resnet18(shape: tuple[int, ...], head: Head, *, shortcut: str = "activated") -> nn.Module:
    """PreAct ResNet-18 with a normalised 3x3 stem and nothing between the last block and the pooling.

    shortcut "activated": every shortcut starts from relu(norm(x)), the identities too, as in the code of Wei and Liu
    (f-divergence, ICLR 2021) and in the second code of Yao et al. (CausalNL, NeurIPS 2021). "raw": identities carry x
    itself, as He et al. have it, and only projections start from relu(norm(x)). Weights are torch's default, as in both
    codes.
    """
    channels, _, _ = image_shape(shape)
    body = nn.Sequential(
        *stem_layers(channels, kind="cifar"),
        *stages(BLOCKS[one_of("shortcut", shortcut, BLOCKS)], 64, (64, 128, 256, 512), (2, 2, 2, 2)),
        MeanPool(),
    )
    return Net(body, 512, head)


@register("resnet50_v2")
def resnet50_v2(shape: tuple[int, ...], head: Head, *, stem: str | None = None) -> nn.Module:
    """ResNet-v2-50, fully pre-activated; stem "imagenet" or "cifar" (the default below 64 pixels).

    Identities carry x, projections start from relu(norm(x)). Convolutions He-normal by fan-out.
    """
    channels, *size = image_shape(shape)
    body = nn.Sequential(
        *stem_layers(channels, stem_kind(stem, size), activated=False),
        *stages(_bottleneck, 64, (256, 512, 1024, 2048), (3, 4, 6, 3)),
        nn.BatchNorm2d(2048),
        nn.ReLU(),
        MeanPool(),
    )
    return Net(he_normal(body, "fan_out"), 2048, head)
