"""The parts that all residual networks share."""

from collections.abc import Callable, Sequence
from typing import Literal

from torch import Tensor, nn

from labelnoise.nets.base import one_of

Block = Callable[[int, int, int], nn.Module]  # (channels in, channels out, stride) -> residual block

LARGE = 64  # pixels from which on an image is shrunk by the stem


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Module:
    """A padded convolution without bias: a side of n pixels becomes ceil(n / stride)."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def projection(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The identity where a block keeps the shape, else a 1x1 convolution."""
    return nn.Identity() if inputs == outputs and stride == 1 else conv(inputs, outputs, 1, stride)


def stages(block: Block, inputs: int, outputs: Sequence[int], depths: Sequence[int]) -> list[nn.Module]:
    """Blocks one after the other, so many per stage; each stage after the first halves the image in its first block."""
    blocks: list[nn.Module] = []
    for width, depth in zip(outputs, depths, strict=True):
        for position in range(depth):
            blocks.append(block(inputs, width, 2 if blocks and position == 0 else 1))
            inputs = width
    return blocks


def stem_kind(chosen: str | None, size: Sequence[int]) -> str:
    """The chosen stem, or else the one for images of this height and width."""
    by_size = "imagenet" if min(size) >= LARGE else "cifar"
    return one_of("stem", chosen or by_size, ("imagenet", "cifar"))


def stem_layers(channels: int, kind: str, *, activated: bool = True) -> list[nn.Module]:
    """The layers before the first block, to 64 channels; normalised and rectified unless that block does so itself.

    imagenet: a 7x7 convolution and a max-pool, of stride 2 each. cifar: a 3x3 convolution.
    """
    large = kind == "imagenet"
    layers = [conv(channels, 64, 7, 2) if large else conv(channels, 64, 3)]
    layers += [nn.BatchNorm2d(64), nn.ReLU()] if activated else []
    layers += [nn.MaxPool2d(3, 2, padding=1)] if large else []
    return layers


class MeanPool(nn.Module):
    """The mean over all pixels: (B, C, H, W) -> (B, C)."""

    def forward(self, x: Tensor) -> Tensor:
        """Means by channel."""
        return x.mean((-2, -1))


def he_normal(module: nn.Module, fan: Literal["fan_in", "fan_out"]) -> nn.Module:
    """The module with convolutions drawn from a normal law of variance 2 / fan."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode=fan, nonlinearity="relu")
    return module
