"""Convolutions of packed runs as products of matrices.

Mapped over runs a convolution has a group for each run, and libraries are slow at going back through many small groups.
Here a row of the output is made of the rows of the input that it depends on, as many as the kernel is high, side by
side. They are multiplied by a matrix that holds the kernel once for every place along the row, and zeros besides: more
numbers to multiply, but in the one way that GPUs are fastest at.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MOST = 2**20  # numbers in that matrix: wide images with many channels are better off as they are


class ByRows(nn.Module):
    """Stands in for a convolution, with the same weights under the same names."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        assert not isinstance(layer.padding, str)
        self.weight, self.bias, self.stride, self.padding = layer.weight, layer.bias, layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        """(B, O, H', W') from (B, C, H, W)."""
        outputs, channels, high, wide = self.weight.shape
        width = x.shape[3]
        across = (width + 2 * self.padding[1] - wide) // self.stride[1] + 1  # W'
        if channels * high * width * outputs * across > MOST:
            return F.conv2d(x, self.weight, self.bias, self.stride, self.padding)
        rows = _windows(F.pad(x, (0, 0, self.padding[0], self.padding[0])), high, self.stride[0]).flatten(2)
        found = rows.flatten(0, 1) @ self._matrix(width, across)
        found = found.reshape(*rows.shape[:2], outputs, across).transpose(1, 2)
        return found if self.bias is None else found + self.bias[:, None, None]

    def _matrix(self, width: int, across: int) -> Tensor:
        kernel, source, target = (
            torch.arange(size, device=self.weight.device) for size in (self.weight.shape[3], width, across)
        )
        # (w, W, W'): whether column W of the input meets column w of the kernel for column W' of the output
        met = kernel[:, None, None] == source[:, None] - self.stride[1] * target + self.padding[1]
        placed = (self.weight[..., None, None] * met).sum(3)  # (O, C, h, W, W')
        return placed.permute(1, 2, 3, 0, 4).flatten(3).flatten(0, 2)


def by_rows(module: nn.Module) -> None:
    """Let the convolutions of a module, where they are plain ones, be products of matrices."""
    for parent in list(module.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Conv2d and _is_plain(layer):
                setattr(parent, name, ByRows(layer))


def _is_plain(layer: nn.Conv2d) -> bool:
    usual = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    return usual and not isinstance(layer.padding, str)


def _windows(x: Tensor, high: int, down: int) -> Tensor:
    # (B, H', C, h, W): what each row of the output depends on
    if not torch.compiler.is_compiling():
        return x.unfold(2, high, down).permute(0, 2, 1, 4, 3)
    # The compiler makes of `unfold`, on the way back, additions in no certain order; of slices it makes one sum.
    last = x.shape[2] - high + 1
    return torch.stack([x[:, :, top : last + top : down].transpose(1, 2) for top in range(high)], dim=3)
