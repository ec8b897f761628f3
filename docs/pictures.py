"""Write docs/noise.svg, the picture of the noise models on ten classes: `python docs/pictures.py`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from torch import Tensor

from labelnoise.data import load
from labelnoise.noise import Details, instance_dependent, parse, score_dependent
from labelnoise.report.figures import Floats, transitions

PICTURE = Path(__file__).with_name("noise.svg")
CLASSES, INPUTS = 10, 8
BY_CLASS = [  # definition, and the data set whose classes it is about
    ("symmetric:0.4", ""),
    ("random:0.4", ""),
    ("pair:0.4", ""),
    ("asymmetric:0.4", "mnist"),
    ("asymmetric:0.4", "cifar10"),
    ("uniform:low", "cifar10"),
    ("uniform:high", "cifar10"),
    ("sparse:low", "cifar10"),
    ("sparse:high", "cifar10"),
    ("annotators:0.4:random", ""),
    ("annotators:0.4:aggregate", ""),
    ("annotators:0.4:worst", ""),
]
BY_INPUT: dict[str, Callable[..., tuple[Tensor, Details]]] = {
    "instance:0.4": instance_dependent,
    "instance:0.4:centred": partial(instance_dependent, features="centred"),
    "score:0.4": score_dependent,
}


def by_class() -> dict[str, Floats]:
    """T of every noise that depends on the true class alone."""
    found = {}
    for definition, dataset in BY_CLASS:
        found[f"{definition}, {dataset}".removesuffix(", ")] = np.array(parse(definition, CLASSES, dataset).T)
    return found


def by_input(true: int = 3) -> dict[str, Floats]:
    """The probabilities of a few digits of one class, a row for each: what depends on the input has no T."""
    digits = load("digits", 0)
    pixels = (255 * digits.x).round().byte()  # as images are stored
    some = (digits.y_given == true).nonzero().squeeze(1)[:INPUTS]
    found = {}
    for name, draw in BY_INPUT.items():
        _, details = draw(pixels, digits.y_given, 0.4, classes=CLASSES, seed=0, details=True)
        found[f"{name}, images of a {true}"] = details.P[some].numpy()
    return found


def picture() -> str:
    """The whole file."""
    title = "Ten classes: P(given | true) in per cent, or P(given | input), for every kind of label noise"
    return transitions(title, by_class() | by_input())


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
