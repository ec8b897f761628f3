"""Convolutions of a single run as a GPU is fastest with them: how channels lie in memory, and how many there are.

In bfloat16 tensor cores take eight channels at a time. Libraries bring images of one or three channels into that form
by kernels of their own, at every call and on the way back; what is done here a compiler makes part of a kernel that is
needed anyway.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labelnoise.engine.convolution import is_plain
from labelnoise.nets.base import Lowerable

AT_ONCE = 8  # channels
FEW = 3  # of an image


class Filled(nn.Conv2d):
    """A convolution with channels of zeros, of input and output, up to the next multiple of eight."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # (B, O, H', W') from (B, C, H, W)
        outputs, inputs = (-channels % AT_ONCE for channels in weight.shape[:2])
        x = F.pad(input, (0, 0, 0, 0, 0, inputs)).contiguous(memory_format=torch.channels_last)
        kernels = F.pad(weight, (0, 0, 0, 0, 0, inputs, 0, outputs)).contiguous(memory_format=torch.channels_last)
        bias = None if bias is None else F.pad(bias, (0, outputs))
        return F.conv2d(x, kernels, bias, self.stride, self.padding).narrow(1, 0, self.out_channels)


class Summed(nn.Conv2d):
    """A convolution of single pixels and few channels as a sum over these."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # (B, O, H, W) from (B, C, H, W) and weights (O, C, 1, 1)
        found = (input.unsqueeze(1) * weight).sum(2)
        return found if bias is None else found + bias[:, None, None]


def channels_last(module: nn.Module) -> None:
    """Lay kernels so: images follow them, and are then what a GPU's convolutions are fastest with.

    Networks that are none of this package may count on how they lie in memory, and stay as they are.
    """
    for net in (each for each in module.modules() if isinstance(each, Lowerable)):
        for param in (each for each in net.parameters() if each.dim() == 4):
            param.data = param.data.contiguous(memory_format=torch.channels_last)


def eight_at_once(module: nn.Module) -> None:
    """Let convolutions of the networks in a module that compute in fewer bits have as many channels as suit those.

    Where nothing is compiled it would not pay.
    """
    for net in (each for each in module.modules() if isinstance(each, Lowerable) and each.precision is not None):
        for layer in net.modules():
            if type(layer) is nn.Conv2d and is_plain(layer):
                layer.__class__ = _suited(layer)  # in its place, for others may know the layer


def _suited(layer: nn.Conv2d) -> type[nn.Conv2d]:
    fewest, most = sorted((layer.in_channels, layer.out_channels))
    if layer.kernel_size == layer.stride == (1, 1) and layer.padding == (0, 0) and most <= FEW:
        return Summed
    return Filled if fewest % AT_ONCE or most % AT_ONCE else nn.Conv2d
