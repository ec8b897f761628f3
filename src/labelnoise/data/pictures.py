"""Image files that stay on disk: they stand in a data set for pixels that would not fit in memory."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.errors import InputError


@dataclass(frozen=True, eq=False)
class Pictures:
    """N image files as inputs (3, size, size): the short side is scaled to `resize` pixels, and a window cut out."""

    folder: Path
    paths: NDArray[np.bytes_]  # (N,) from the folder on; bytes take a quarter of the memory of text
    size: int = 224
    resize: int = 256
    dtype = torch.uint8  # of the pixels, once they are read

    def __post_init__(self) -> None:
        if not 0 < self.size <= self.resize:
            raise InputError(f"a window of {self.size} pixels does not fit images scaled to {self.resize}; cut less")

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of the tensor in whose place this stands."""
        return (len(self), 3, self.size, self.size)

    @property
    def encoding(self) -> dict[str, Any]:
        """How a model that has learnt from these reads other images: scaled likewise, and the middle cut out."""
        return {"kind": "images", "shape": list(self.shape[1:]), "resize": self.resize, "window": self.size}

    @property
    def names(self) -> tuple[str, ...]:
        """The paths as text."""
        return tuple(map(os.fsdecode, self.paths.tolist()))

    def files(self, rows: Sequence[int]) -> list[str]:
        """Where the images of some rows lie."""
        folder = self.folder.absolute()
        return [os.path.join(folder, os.fsdecode(path)) for path in self.paths[rows].tolist()]


def read_windows(
    files: Sequence[str], which: Sequence[int], places: NDArray[np.float32] | None, *, size: int, resize: int
) -> Tensor:
    """Windows of images as pixels (n, 3, size, size), of files[which[i]] for window i; each file is read once.

    `places` (n, 2) on [0, 1) say how far down and to the right a window lies; without them it lies in the middle.
    """
    pixels = np.empty((len(which), 3, size, size), np.uint8)
    by_file: list[list[int]] = [[] for _ in files]
    for window, place in enumerate(which):
        by_file[place].append(window)
    for file, windows in zip(files, by_file, strict=True):
        image = _read(file, resize)
        for window in windows:
            top, left = _corner(image.shape[:2], size, None if places is None else places[window])
            pixels[window] = image[top : top + size, left : left + size].transpose(2, 0, 1)
    return torch.from_numpy(pixels)


def _corner(sides: tuple[int, ...], size: int, place: NDArray[np.float32] | None) -> tuple[int, int]:
    if place is None:
        return (sides[0] - size) // 2, (sides[1] - size) // 2
    top, left = (int(share * (side - size + 1)) for share, side in zip(place.tolist(), sides, strict=True))
    return top, left


def _read(file: str, resize: int) -> NDArray[np.uint8]:
    # (height, width, 3), of which the shorter is `resize`
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd tags beside the pixels
        try:
            with Image.open(file) as image:
                scale = resize / min(image.size)
                width, height = (max(resize, round(side * scale)) for side in image.size)
                image.draft(None, (width, height))  # a JPEG is decoded at half its size or less where that suffices
                scaled = image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
                return np.asarray(scaled)
        except FileNotFoundError:
            raise InputError(f"there is no image {file}; put it back, or convert the data set again") from None
        except Exception:  # a damaged file may make a decoder raise anything
            raise InputError(f"{file} cannot be read as an image; mend it or replace it") from None
