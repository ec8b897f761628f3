"""What a person sees of a row: its image, its cells, or its numbers."""

import base64
import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.data.pictures import read_windows
from labelnoise.data.table import LABEL, PATH, SUFFIXES, read_table
from labelnoise.errors import InputError
from labelnoise.reviewing.clean_table import labelled
from labelnoise.reviewing.source import Source, inside, is_inside

MOST_PIXELS = 160  # of the longer side; larger images are scaled down
LOSSLESS = 64  # pixels up to which every one of them counts
MOST_CELLS, MOST_LETTERS = 40, 600  # of a row and of a cell; more is cut off
LEAST_SQUARE = 64  # numbers from which a row of a square number of them is drawn as an image


class Shown(TypedDict, total=False):
    """A row as the page shows it: an image, or pairs of name and text; or a sentence why there is neither."""

    image: str
    cells: list[tuple[str, str]]
    hidden: str


def shown(source: Source, rows: Sequence[int]) -> list[Shown]:
    """What is to be seen of some rows of the data set."""
    x = source.dataset.x
    if not isinstance(x, Tensor):
        files = x.files(list(rows))
        windows = (read_windows([file], [0], None, size=x.size, resize=x.resize)[0].numpy() for file in files)
        return [{"image": picture(window)} for window in windows]
    if x.ndim == 4:
        paths = _paths(source, rows)
        return [_image(x[row].numpy(), *path) for row, path in zip(rows, paths, strict=True)]
    if source.kind in SUFFIXES:
        return [{"cells": cells} for cells in _cells(source, rows)]
    scales = [np.asarray(source.dataset.encoding.get(name, [default])) for name, default in (("mean", 0), ("std", 1))]
    return [_numbers(x[row].numpy() * scales[1] + scales[0]) for row in rows]


def outside(source: Source) -> list[str]:
    """Where the images lie that a table lists outside the folder whose images may be shown."""
    return [os.path.realpath(path) for root, path in listed(source) if not is_inside(root, path)]


def listed(source: Source) -> list[tuple[Path, str]]:
    """Of the images that a table lists, the folder they may lie in and their path."""
    if source.kind not in SUFFIXES or source.dataset.encoding.get("kind") != "images":
        return []
    paths = _paths(source, range(len(source.dataset)))
    return [(root, path) for root, path in paths if root is not None]


def picture(pixels: NDArray[Any]) -> str:
    """Pixels (C, H, W) as the address of an image that holds itself."""
    from PIL import Image

    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = ((pixels - low) / (high - low or 1) * 255).astype(np.uint8)
    image = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels[:3].transpose(1, 2, 0))
    kind = "PNG" if max(image.size) <= LOSSLESS else "JPEG"
    image.thumbnail((MOST_PIXELS, MOST_PIXELS))
    data = io.BytesIO()
    image.save(data, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(data.getvalue()).decode()}"


def _image(pixels: NDArray[Any], root: Path | None, path: str) -> Shown:
    try:
        if root is not None:
            inside(root, path)
    except InputError:
        return {"hidden": "The image lies outside the folder of the data, and is not shown; --images names another."}
    return {"image": picture(pixels)}


def _paths(source: Source, rows: Sequence[int]) -> list[tuple[Path | None, str]]:
    # of images that are files, the folder they may lie in and their path, from there or from the root of all
    if source.path is not None and source.kind == "folder":
        return [(source.path, source.dataset.ids[row]) for row in rows]
    if source.path is None or source.kind not in SUFFIXES:
        return [(None, "")] * len(rows)
    frame, column = _frame(source, rows), source.settings.image_column or PATH
    cells = frame[column] if column in frame else [None] * len(rows)  # of a hub, in a column of any name
    home = source.path.parent.absolute()
    return [(source.images or home, str(home / cell)) if isinstance(cell, str) else (None, "") for cell in cells]


def _cells(source: Source, rows: Sequence[int]) -> Iterator[list[tuple[str, str]]]:
    settings = source.settings
    left_out = {settings.label_column or LABEL, settings.true_label_column, settings.id_column}
    frame = _frame(source, rows)
    names = [name for name in frame.columns if name and name not in left_out][:MOST_CELLS]
    columns = [frame[name].fillna("").astype(str).tolist() for name in names]
    for row in range(len(rows)):  # also of a table that has no other columns
        yield [(name, _short(column[row])) for name, column in zip(names, columns, strict=True)]


def _frame(source: Source, rows: Sequence[int]) -> Any:
    assert source.path is not None
    frame, origin = read_table(source.path, source.settings)
    column = source.settings.label_column or LABEL
    return frame.iloc[labelled(frame[column], source.dataset, origin, column)[list(rows)]]


def _numbers(values: NDArray[Any]) -> Shown:
    side = math.isqrt(len(values))
    if len(values) >= LEAST_SQUARE and side**2 == len(values):
        return {"image": picture(values.reshape(1, side, side))}
    return {"cells": [(str(place), f"{number:.6g}") for place, number in enumerate(values[:MOST_CELLS])]}


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"
