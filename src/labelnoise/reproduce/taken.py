"""What a figure keeps of a run, by its kind: a few columns of numbers, of all epochs or after the last."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labelnoise.errors import InputError
from labelnoise.papers.paper import Cell
from labelnoise.reproduce.series import Column, Series, series
from labelnoise.results.facts import run_again
from labelnoise.results.store import Run

ROWS = ("all", "right", "wrong")  # training rows, by their label
LABELS = ("true", "given", "predicted")
Parts = Mapping[str, Mapping[str, Column]]  # by name, columns of equal length


def taken(kind: str, cell: Cell, run: Run, classes: Sequence[str]) -> list[Series]:
    """Of a run whose records and details are there."""
    try:
        parts = TAKEN[kind](cell.measure, run, classes)
    except KeyError as missing:
        raise InputError(f"{run.pack.folder} lacks {missing}; {run_again(run.pack.folder)}") from None
    return [series(cell, run.identity, run.config["seed"], columns, part) for part, columns in parts.items()]


def by_epoch(measure: str, run: Run, _classes: Sequence[str]) -> Parts:
    """A measure after each epoch."""
    epochs = np.array([record.epoch + 1.0 for record in run.records])
    return {"": {"epoch": epochs, "value": np.array([record.measures[measure] for record in run.records])}}


def margins(measure: str, run: Run, classes: Sequence[str]) -> Parts:
    """How many training rows have which margin: of margin/wrong/true, wrongly labelled ones and their true class."""
    _, rows, label = measure.split("/")
    counts = _number(run, "margin_counts")[ROWS.index(rows), LABELS.index(label)]
    low = np.arange(len(counts)) / len(counts) - 1 / len(classes)
    return {"": {"low": low, "high": low + 1 / len(counts), "rows": counts}}


def projection(_measure: str, run: Run, classes: Sequence[str]) -> Parts:
    """Features of training rows on the plane of three classes."""
    return {"": _points(run, "projection", classes)}


def regions(_measure: str, run: Run, classes: Sequence[str]) -> Parts:
    """What is predicted all over the plane, from bottom to top and from left to right, and some training rows."""
    left, right, bottom, top = _number(run, "plane_frame")
    probs = _number(run, "plane_probs")  # (K, lines, columns)
    y, x = np.meshgrid(
        np.linspace(bottom, top, probs.shape[1]), np.linspace(left, right, probs.shape[2]), indexing="ij"
    )
    each = {f"p{place}": own.ravel() for place, own in enumerate(probs)}
    return {"grid": {"x": x.ravel(), "y": y.ravel(), **each}, "points": _points(run, "plane", classes)}


def lines(_measure: str, run: Run, classes: Sequence[str]) -> Parts:
    """The line a x + b y + c = 0 of a linear network, and some training rows."""
    a, b, c = run.details["line"].double().numpy()
    return {
        "line": {"a": np.array([a]), "b": np.array([b]), "c": np.array([c])},
        "points": _points(run, "plane", classes),
    }


def residuals(measure: str, run: Run, _classes: Sequence[str]) -> Parts:
    """Logarithms to the base of ten of squared residuals of training rows, as they are or weighed by a covariance."""
    return {"": {"value": _number(run, f"examined_{measure}"), "wrong": _number(run, "examined_wrong")}}


TAKEN: dict[str, Callable[[str, Run, Sequence[str]], Parts]] = {
    "by epoch": by_epoch,
    "margins": margins,
    "projection": projection,
    "regions": regions,
    "lines": lines,
    "residuals": residuals,
}


def _number(run: Run, name: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = run.details[f"last_{name}"].double().numpy()
    return found


def _points(run: Run, name: str, classes: Sequence[str]) -> dict[str, Column]:
    x, y = _number(run, f"{name}_points").T
    given = run.details[f"last_{name}_given"].tolist()
    return {
        "x": x,
        "y": y,
        "given": np.array(given, dtype=np.float64),
        "label": np.array([classes[each] for each in given]),
        "wrong": _number(run, f"{name}_wrong"),
    }
