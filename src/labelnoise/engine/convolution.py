"""Convolutions of packed runs as products of matrices.

Mapped over runs a convolution has a group for each run, and libraries are slow at going back through many small groups.
A row of the output depends on as many rows of the input as the kernel is high. These, put side by side, are multiplied
by a matrix that holds the kernel once for every place along the row, and zeros besides: more numbers to multiply, but
of a kind that devices are made for.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MOST = 2**20  # numbers in that matrix: wide images with many channels are better off as they are


class ByRows(nn.Module):
    """Stands in for a convolution, with the same weights under the same names."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.stride, self.padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        """(B, O, H', W') from (B, C, H, W)."""
        (down, along), (above, beside) = self.stride, self.padding
        outputs, channels, high, wide = self.weight.shape
        width = x.shape[3]
        across = (width + 2 * beside - wide) // along + 1  # W'
        if self.weight.numel() // wide * width * across > MOST:
            return F.conv2d(x, self.weight, self.bias, self.stride, self.padding)
        x = F.pad(x, (0, 0, above, above))
        last = x.shape[2] - high + 1
        windows = (x[:, :, top : last + top : down].transpose(1, 2) for top in range(high))  # (B, H', C, W) each
        rows = torch.stack(list(windows), dim=3)  # as it is multiplied: it is kept for the way back, not made anew
        places = _places(width, across, wide, along, beside, x.device)
        matrix = (self.weight[..., None, None] * places).sum(3).permute(1, 2, 3, 0, 4)  # (C, h, W, O, W')
        found = rows.flatten(2).flatten(0, 1) @ matrix.reshape(channels * high * width, outputs * across)
        found = found.unflatten(1, (outputs, across)).unflatten(0, (len(x), -1)).transpose(1, 2)
        return found if self.bias is None else found + self.bias[:, None, None]


def by_rows(module: nn.Module) -> None:
    """Let the convolutions of a module, where they are plain ones, be products of matrices."""
    for parent in list(module.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Conv2d and _is_plain(layer):
                setattr(parent, name, ByRows(layer))


def _is_plain(layer: nn.Conv2d) -> bool:
    usual = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    return usual and not isinstance(layer.padding, str)


def _places(width: int, across: int, wide: int, along: int, beside: int, device: torch.device) -> Tensor:
    # (w, W, W'): whether column W of the input meets column w of the kernel for column W' of the output
    kernel, source, target = (torch.arange(size, device=device) for size in (wide, width, across))
    return kernel[:, None, None] == source[:, None] - along * target + beside
