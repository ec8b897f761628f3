"""The generative networks of CausalNL for images of 28, 32 and 224 pixels, layer by layer as in the authors' code.

Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from labelnoise.nets.base import Lowerable


class Plan(NamedTuple):
    """How images of one size become features, and features images."""

    widths: tuple[int, ...]  # channels of the convolutions, each of which halves the image
    kernel: int
    side: int  # of the smallest map
    extra: int  # rows that the transposed convolutions add; then kernel and extra of the last of them
    last: tuple[int, int]
    output: tuple[int, int]  # kernel and padding of the convolution that returns the image

    @property
    def features(self) -> int:
        """Numbers in the smallest map."""
        return self.widths[-1] * self.side**2


PLANS = {
    28: Plan((32, 64, 128, 256), 3, 2, 1, (3, 0), (4, 0)),  # back by 4, 8, 16, 31
    32: Plan((32, 64, 128, 256), 3, 2, 1, (3, 1), (3, 1)),  # 4, 8, 16, 32
    224: Plan((32, 64, 128, 256, 512), 7, 4, 0, (9, 1), (3, 1)),  # 11, 25, 53, 109, 224
}


def image_plan(shape: tuple[int, ...]) -> Plan | None:
    """The plan for square images of this size, where there is one."""
    return PLANS.get(shape[-1]) if len(shape) == 3 and shape[-1] == shape[-2] else None


class ImageTrunk(Lowerable):
    """Image and label to features: the label comes as one more channel, a linear function of it."""

    def __init__(self, shape: tuple[int, ...], classes: int, plan: Plan) -> None:
        super().__init__()
        channels, height, width = shape
        self.features, self.plane = plan.features, (1, height, width)
        self.image = nn.Conv2d(channels, channels, 1)
        self.label = nn.Linear(classes, height * width)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise((channels + 1, *plan.widths)):
            layers += [nn.Conv2d(inputs, outputs, plan.kernel, 2, padding=1), nn.BatchNorm2d(outputs), nn.LeakyReLU()]
        self.layers = nn.Sequential(*layers, nn.Flatten())

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        """(B, F) of images (B, C, H, W) and labels (B, K)."""
        plane = self.label(label).unflatten(-1, self.plane)
        return self.lowered(self.layers, torch.cat([self.image(x), plane], dim=1))


class ImageDecoder(Lowerable):
    """Cause and label to an image."""

    def __init__(self, shape: tuple[int, ...], inputs: int, plan: Plan) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(inputs, plan.features)]
        layers += [nn.Unflatten(-1, (plan.widths[-1], plan.side, plan.side))]
        for wide, narrow in pairwise(reversed(plan.widths)):
            layers += _enlarged(wide, narrow, plan.kernel, plan.extra)
        narrow, (kernel, padding) = plan.widths[0], plan.output
        layers += _enlarged(narrow, narrow, *plan.last)
        self.layers = nn.Sequential(*layers, nn.Conv2d(narrow, shape[0], kernel, padding=padding))

    def forward(self, z: Tensor, label: Tensor) -> Tensor:
        """(B, C, H, W) of z (B, J) and labels (B, K)."""
        return self.lowered(self.layers, torch.cat([z, label], dim=-1))


def _enlarged(inputs: int, outputs: int, kernel: int, extra: int) -> list[nn.Module]:
    up = nn.ConvTranspose2d(inputs, outputs, kernel, 2, padding=1, output_padding=extra)
    return [up, nn.BatchNorm2d(outputs), nn.LeakyReLU()]
