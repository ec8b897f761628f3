"""Convolutions of packed runs as products of matrices.

Mapped over runs a convolution has a group for each run, and libraries are slow at going back through many small groups.
Here a row of the output is made of the rows of the input that it depends on, as many as the kernel is high, side by
side. They are multiplied by a matrix that holds the kernel once for every place along the row, and zeros besides: more
numbers to multiply, but in the one way that GPUs are fastest at.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labelnoise.nets.base import Net

MOST = 2**20  # numbers in that matrix: wide images with many channels are better off as they are


class ByRows(nn.Conv2d):
    """A convolution computed in that way; what it gives lies in memory row by row, the channels within."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # (B, O, H', W') from (B, C, H, W)
        outputs, channels, high, wide = weight.shape
        width, (above, beside) = input.shape[3], _pads(self)
        across = (width + 2 * beside - wide) // self.stride[1] + 1  # W'
        if channels * high * width * outputs * across > MOST:
            return F.conv2d(input, weight, bias, self.stride, self.padding)
        rows = _windows(F.pad(input, (0, 0, above, above)), high, self.stride[0]).flatten(2)
        found = rows.flatten(0, 1) @ self._matrix(weight, width, across)
        found = found.reshape(*rows.shape[:2], outputs, across).transpose(1, 2)
        return found if bias is None else found + bias[:, None, None]

    def _matrix(self, weight: Tensor, width: int, across: int) -> Tensor:
        kernel, source, target = (torch.arange(n, device=weight.device) for n in (weight.shape[3], width, across))
        # (w, W, W'): whether column W of the input meets column w of the kernel for column W' of the output
        met = kernel[:, None, None] == source[:, None] - self.stride[1] * target + _pads(self)[1]
        placed = (weight[..., None, None] * met).sum(3)  # (O, C, h, W, W')
        return placed.permute(1, 2, 3, 0, 4).flatten(3).flatten(0, 2)


def by_rows(module: nn.Module) -> None:
    """Let the convolutions of this package's classifiers in a module, where they are plain ones, be computed so.

    Those of other networks stay as they are: they may count on how a convolution's result lies in memory.
    """
    for net in (each for each in module.modules() if isinstance(each, Net)):
        for layer in net.modules():
            if type(layer) is nn.Conv2d and is_plain(layer):
                layer.__class__ = ByRows  # in its place, for others may know the layer


def is_plain(layer: nn.Conv2d) -> bool:
    """Whether it has neither groups nor gaps, and zeros around the image."""
    usual = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    return usual and not isinstance(layer.padding, str)


def _pads(layer: nn.Conv2d) -> tuple[int, int]:
    assert not isinstance(layer.padding, str)
    return layer.padding[0], layer.padding[1]


def _windows(x: Tensor, high: int, down: int) -> Tensor:
    # (B, H', C, h, W): what each row of the output depends on
    if not torch.compiler.is_compiling():
        return x.unfold(2, high, down).permute(0, 2, 1, 4, 3)
    # The compiler makes of `unfold`, on the way back, additions in no certain order; of slices it makes one sum.
    last = x.shape[2] - high + 1
    return torch.stack([x[:, :, top : last + top : down].transpose(1, 2) for top in range(high)], dim=3)
