"""A network and how long to train it, by the shape and number of the inputs, where nobody says otherwise."""

from typing import NamedTuple


class Recipe(NamedTuple):
    """What a run takes unless told."""

    net: str
    epochs: int
    batch: int


def recipe(shape: tuple[int, ...], samples: int) -> Recipe:
    """For inputs of this shape and so many training rows."""
    return Recipe(
        _net(shape), _step(samples, (10_000, 40), (100_000, 20), 10), _step(samples, (10_000, 64), (50_000, 128), 256)
    )


def _net(shape: tuple[int, ...]) -> str:
    if len(shape) != 3 or min(shape[1:]) < 12:  # pixels; convolutions need some room
        return "mlp"
    if max(shape[1:]) > 64:
        return "resnet18"
    return "lenet5" if shape[0] == 1 else "resnet32"


def _step(samples: int, few: tuple[int, int], some: tuple[int, int], many: int) -> int:
    return next((value for most, value in (few, some) if samples <= most), many)
