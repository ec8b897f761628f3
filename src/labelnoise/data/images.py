"""Images: a folder with one folder per class, or files that a table lists; all become uint8 (N, C, H, W)."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.config import Data
from labelnoise.data.factor import Origin, is_formula
from labelnoise.data.rows import Inputs, Rows, counted
from labelnoise.errors import InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
PARTS = {"train", "training", "test", "val", "valid", "validation"}
MOST_PIXELS = 10**6  # of an image that is not scaled down
MOST_BYTES = 64 * 2**30  # of all images
GREY, COLOUR = ("L", "1", "LA"), ("RGB", "RGBA", "P", "PA", "CMYK", "YCbCr")


class Listed(NamedTuple):
    """An image that is still to be read."""

    name: str  # of its file, if it is one
    source: Any  # path, file of bytes, or PIL image
    place: Callable[[], str] | None = None  # where a table lists it; found late, for that means to read the table again

    def __str__(self) -> str:
        return ": ".join(filter(None, [self.place() if self.place else "", self.name]))


class _Image(NamedTuple):
    pixels: NDArray[np.uint8]  # (C, H, W) with one channel or three
    kind: str  # size and mode as they were found
    transparent: bool


def from_folder(folder: Path, settings: Data) -> Rows:
    """The images below the folders of a folder, whose names are the classes; ids are the paths from there."""
    classes = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    names = [path.name for path in classes]
    if not classes:
        raise InputError(f"{folder} holds no class folders; put the images of each class in a folder of its name")
    if PARTS.issuperset(name.lower() for name in names):
        raise InputError(f"{folder} holds parts, {' and '.join(names)}, not classes; give one, such as {classes[0]}")
    files = _files(folder)
    paths = [path for path in files if path.suffix.lower() in SUFFIXES and path.parent != folder]
    ids = _ids(paths, folder)
    given = [identifier.split("/")[0] for identifier in ids]
    if empty := set(names) - set(given):
        raise InputError(f"class folder {folder / min(empty)} holds no images; add some, or remove the folder")
    x, notes, encoding = stack([Listed(str(path), path) for path in paths], settings.image_size)
    notes = (*_left_out(folder, files, paths), *notes)
    origin, inputs = Origin(str(folder), ids.__getitem__), Inputs(x, ids, notes)
    return Rows(
        folder.name, origin, inputs, encoding, given, columns=("", ""), remedy="put the images of a class in one folder"
    )


def inputs_of(path: Path, encoding: Mapping[str, Any]) -> Inputs:
    """An image, or all those below a folder, as inputs of a model that has learnt from images."""
    files, folder = ([path], path.parent) if path.is_file() else (_files(path), path)
    paths = [file for file in files if file.suffix.lower() in SUFFIXES]
    if not paths:
        raise InputError(f"{path} holds no images; their names end in {', '.join(SUFFIXES)}")
    ids = _ids(paths, folder)
    x, notes = conform([Listed(str(image), image) for image in paths], encoding)
    return Inputs(x, ids, (*_left_out(folder, files, paths), *notes))


def stack(images: Sequence[Listed], size: int) -> tuple[torch.Tensor, tuple[str, ...], dict[str, Any]]:
    """Images in one tensor, with notes and their encoding: all have one size and mode, or are scaled to `size` pixels.

    Scaled ones are grey if all are, and otherwise colour.
    """
    if size**2 >= MOST_PIXELS:
        raise InputError(f"images of {size} × {size} pixels have a million or more; scale them to fewer than 1000")
    x = _empty(len(images), 1, size, size)
    kind, transparent = "", 0
    for row, listed in enumerate(images):
        image = _read(listed, size)
        if row == 0:
            x, kind = _empty(len(images), *image.pixels.shape), image.kind
        if not size and image.kind != kind:
            raise InputError(
                f"{listed} has {image.kind}, but {images[0].name or images[0]} has {kind}; "
                "make all alike, or scale them, such as by --image-size 32"
            )
        if len(image.pixels) > x.shape[1]:
            grey, x = x, _empty(len(images), *image.pixels.shape)
            x[:row] = grey[:row]  # all were, before this one
        x[row] = image.pixels
        transparent += image.transparent
    return torch.from_numpy(x), _on_white(transparent), {"kind": "images", "shape": list(x.shape[1:]), "resize": size}


def conform(images: Sequence[Listed], encoding: Mapping[str, Any]) -> tuple[torch.Tensor, tuple[str, ...]]:
    """New images in one tensor, scaled as those of the encoding were, with notes; grey ones may stand for colour."""
    channels, height, width = encoding["shape"]
    x = _empty(len(images), channels, height, width)
    transparent = 0
    for row, listed in enumerate(images):
        image = _read(listed, encoding["resize"], encoding.get("window", 0))
        if image.pixels.shape[1:] != (height, width):
            raise InputError(f"{listed} has {image.kind}, but the model knows {width} × {height} pixels; scale it")
        if len(image.pixels) > channels:
            raise InputError(f"{listed} has {image.kind}, but the model knows grey images; convert it")
        x[row] = image.pixels
        transparent += image.transparent
    return torch.from_numpy(x), _on_white(transparent)


def _files(folder: Path) -> list[Path]:
    # below a folder, nothing hidden
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _ids(paths: Sequence[Path], folder: Path) -> tuple[str, ...]:
    ids = tuple(path.relative_to(folder).as_posix() for path in paths)
    if formula := next(filter(is_formula, ids), ""):
        first, *deeper = formula.split("/")
        raise InputError(
            f"{folder / first}: {formula!r}, the id of an image, is a spreadsheet formula; "
            f"rename the {'folder' if deeper else 'file'}"
        )
    return ids


def _empty(images: int, channels: int, height: int, width: int) -> NDArray[np.uint8]:
    try:
        if (needed := math.prod((images, channels, height, width))) > MOST_BYTES:
            raise MemoryError
        return np.empty((images, channels, height, width), np.uint8)
    except MemoryError:
        raise InputError(
            f"{images} images of {width} × {height} pixels need {needed / 2**30:.3g} GiB of memory; "
            "give fewer, or scale them down, such as by --image-size 64"
        ) from None


def _left_out(folder: Path, files: Sequence[Path], taken: Sequence[Path]) -> tuple[str, ...]:
    if not (left := sorted(set(files) - set(taken))):
        return ()
    example = left[0].relative_to(folder).as_posix()
    what = f"file {example!r} is" if len(left) == 1 else f"{len(left)} files, such as {example!r}, are"
    return (f"{what} left out: no image of a class",)


def _on_white(transparent: int) -> tuple[str, ...]:
    return (f"transparent parts of {counted(transparent, 'image')} are shown on white",) if transparent else ()


def _read(listed: Listed, size: int, window: int = 0) -> _Image:
    # scaled to a square, or, where a window is to be cut out of the middle, to a short side of `size`
    from PIL import Image

    source = listed.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd tags beside the pixels
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with nullcontext(source) if isinstance(source, Image.Image) else Image.open(source) as image:
                kind = f"{image.width} × {image.height} pixels in mode {image.mode}"
                _check(listed, image, kind, size)
                flat, transparent = _flat(image)
        except InputError:
            raise
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise InputError(f"{listed} has too many pixels to be opened safely; scale it down") from None
        except Exception:  # a damaged file may make a decoder raise anything
            raise InputError(f"{listed} cannot be read as an image; mend it or remove it") from None
    if size:
        sides = [max(size, round(side * size / min(flat.size))) if window else size for side in flat.size]
        flat = flat.resize(sides, Image.Resampling.BILINEAR)
    pixels = np.asarray(flat)
    if window:
        top, left = ((side - window) // 2 for side in pixels.shape[:2])
        pixels = pixels[top : top + window, left : left + window]
    return _Image(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1), kind, transparent)


def _check(listed: Listed, image: Any, kind: str, size: int) -> None:
    if image.mode not in GREY + COLOUR:
        raise InputError(f"{listed} has {kind}, which has no sure counterpart of 8 bits; save it as grey or RGB")
    if not size and image.width * image.height >= MOST_PIXELS:
        raise InputError(f"{listed} has {kind}, a million or more; scale the images down, such as by --image-size 64")


def _flat(image: Any) -> tuple[Any, bool]:
    # grey or RGB, on white, and whether white is to be seen
    from PIL import Image

    mode = "L" if image.mode in GREY else "RGB"
    if not image.has_transparency_data:
        return image.convert(mode), False
    layered = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, layered).convert(mode), layered.getextrema()[3][0] < 255
