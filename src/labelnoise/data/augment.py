"""Augmentation of whole batches on their device: the random numbers come in, shapes never depend on them."""

from collections.abc import Mapping
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from labelnoise.config import Augment
from labelnoise.errors import InputError
from labelnoise.rng import Rng


def check(settings: Augment, shape: tuple[int, ...]) -> None:
    """Raise where the settings do not fit inputs of this shape."""
    for name in ("crop", "flip", "upside_down", "rotation"):
        if getattr(settings, name) and len(shape) != 3:
            raise InputError(f"{name} needs images, (channels, height, width), but an input has shape {shape}")
    if settings.crop and not 0 < settings.crop <= min(shape[1:]):
        raise InputError(f"crop must lie between 0 and the image size {min(shape[1:])}, not {settings.crop}")
    if not 0 <= settings.rotation <= 180:
        raise InputError(f"rotation must lie between 0 and 180 degrees, not {settings.rotation}")
    for name, values in (("mean", settings.mean), ("std", settings.std)):
        if values and (len(shape) not in (1, 3) or len(values) != shape[0]):
            raise InputError(f"{name} has {len(values)} entries, but an input has shape {shape}; give one per channel")
    if not all(std > 0 for std in settings.std):
        raise InputError(f"every entry of std must be above 0, but it is {settings.std}")


def to_float(x: Tensor) -> Tensor:
    """Pixels 0 to 255 as floats on [0, 1]; floats as they are."""
    return x.float() / 255 if x.dtype == torch.uint8 else x


def draw(settings: Augment, size: int, rng: Rng) -> dict[str, Tensor]:
    """The random numbers for a batch of one run: each (size,), and only those that the settings need."""
    draws: dict[str, Tensor] = {}
    if settings.crop:
        draws["top"] = rng.integers(2 * settings.crop + 1, size)
        draws["left"] = rng.integers(2 * settings.crop + 1, size)
    if settings.flip:
        draws["flip"] = rng.integers(2, size)
    if settings.upside_down:
        draws["upside_down"] = rng.integers(2, size)
    if settings.rotation:
        draws["angle"] = settings.rotation * (2 * rng.uniform(size) - 1)
    return draws


def augment(x: Tensor, draws: Mapping[str, Tensor], settings: Augment) -> Tensor:
    """Crop, flip and rotate images (N, C, H, W) on [0, 1]; `normalise` comes after."""
    if settings.crop:
        x = _crop(x, draws["top"], draws["left"], settings.crop)
    if settings.flip:
        x = _flip(x, draws["flip"], -1)
    if settings.upside_down:
        x = _flip(x, draws["upside_down"], -2)
    if settings.rotation:
        x = _rotate(x, draws["angle"])
    return x


def normalise(x: Tensor, settings: Augment) -> Tensor:
    """Subtract the mean and divide by the std of each channel of (..., C, H, W), or feature of (..., D).

    Images have a batch axis, perhaps a run axis before it, so vectors are what has three axes at most.
    """
    if settings.mean:
        x = x - _per_channel(settings.mean, x)
    if settings.std:
        x = x / _per_channel(settings.std, x)
    return x


def _crop(x: Tensor, top: Tensor, left: Tensor, padding: int) -> Tensor:
    n, channels, height, width = x.shape
    padded = F.pad(x, (padding,) * 4)
    rows = top[:, None] + torch.arange(height, device=x.device)  # (N, H)
    columns = left[:, None] + torch.arange(width, device=x.device)  # (N, W)
    strip = padded.gather(2, rows[:, None, :, None].expand(n, channels, height, width + 2 * padding))
    return strip.gather(3, columns[:, None, None, :].expand(n, channels, height, width))


def _flip(x: Tensor, chosen: Tensor, axis: int) -> Tensor:
    return torch.where(chosen[:, None, None, None] == 1, x.flip(axis), x)


def _rotate(x: Tensor, degrees: Tensor) -> Tensor:
    # counter-clockwise about the middle; the grid says where each pixel of the result comes from
    height, width = x.shape[-2:]
    angle = degrees.to(x.dtype).deg2rad()[:, None, None]  # (N, 1, 1)
    row, column = _centres(height, x)[:, None], _centres(width, x)  # (H, 1), (W,)
    from_row = angle.sin() * column * (width / height) + angle.cos() * row  # (N, H, W)
    from_column = angle.cos() * column - angle.sin() * row * (height / width)
    grid = torch.stack([from_column, from_row], -1)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _centres(pixels: int, like: Tensor) -> Tensor:
    # of pixels that share [-1, 1]
    return (2 * torch.arange(pixels, dtype=like.dtype, device=like.device) + 1) / pixels - 1


def _per_channel(values: tuple[float, ...], x: Tensor) -> Tensor:
    filled = _filled(values, x.dtype, x.device)
    return filled[:, None, None] if x.ndim > 3 else filled


@cache
def _filled(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=device)
