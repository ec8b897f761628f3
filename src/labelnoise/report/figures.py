"""Figures as inline SVG that takes its colours and its font from the page around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from labelnoise.report.canvas import INK, Floats, box, dashes, hue, inline, marker, sheet, single

Cells = Sequence[Sequence[str]]

MOST_NUMBERS, MOST_NAMES, MOST_DRAWN = 12, 25, 250  # classes up to which a matrix has numbers, names, is drawn at all
SIDE = 260  # of a matrix, in pixels
HEAT = (0.15, 0.39, 0.66)  # its opacity is the value: what is 0 looks like the page, light or dark
STRONG = 0.75  # opacity above which numbers on it must be white
SURE = (0.6, 0.7, 0.8, 0.9)  # a region of the plane is stronger where its class is at least so probable


@dataclass(frozen=True)
class Curve:
    """One quantity by epoch: a row per run, and points to mark as pairs of epoch and value; shares in 0 … 1."""

    values: Floats  # (runs, epochs), nan where a run has none
    marks: Sequence[tuple[int, float]] = ()
    dashes: tuple[float, ...] | None = None  # None: by its place among the curves


@dataclass(frozen=True)
class Plane:
    """What one run predicts where inputs are two numbers, and some of the points it has learnt from."""

    probs: Floats  # (classes, lines from bottom to top, columns)
    frame: Floats  # (4,): left, right, bottom, top
    points: Floats  # (n, 2)
    given: NDArray[np.int64]  # (n,), their labels
    wrong: NDArray[np.bool_]  # (n,), whether these are known to be wrong


def curves(name: str, title: str, drawn: Sequence[Curve], *, small: bool = False) -> str:
    """Mean over runs that have a value, with a band of ± std, in % by epoch; small ones share the range 0 … 100."""
    size = (300, 200) if small else (380, 260)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=30, bottom=40, right=8, top=8))
        for index, curve in enumerate(drawn):
            _draw(axes, index, curve, shade=0.1 if len(drawn) <= 3 else 0.05)  # many bands hide the lines
        if small:
            axes.set(ylim=(-2, 102), yticks=range(0, 101, 25))
        else:
            axes.set_ylim(_range(drawn))
            axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        axes.grid(visible=True, axis="y")
        return inline(figure, name, title)


def _range(drawn: Sequence[Curve]) -> tuple[float, float] | None:
    # Without the rise from chance and the fall where a stage begins, which would press all that matters together.
    late = 100 * np.concatenate([curve.values[:, curve.values.shape[1] // 4 :].ravel() for curve in drawn])
    late = late[np.isfinite(late)]
    if not len(late):
        return None
    marks = [100 * value for curve in drawn for _, value in curve.marks if np.isfinite(value)]
    low, high = min(np.percentile(late, 3), *marks, late.max()), max(late.max(), *marks, 0)
    room = max(0.12 * (high - low), 1)
    return max(low - room, -2), min(high + room, 102)


def _draw(axes: Axes, index: int, curve: Curve, shade: float) -> None:
    runs = 100 * np.ma.masked_invalid(curve.values)
    epochs = np.arange(1, runs.shape[1] + 1)
    middle = runs.mean(0).filled(np.nan)
    (line,) = axes.plot(epochs, middle, color=hue(index), linewidth=1.6, zorder=3)
    if look := dashes(index) if curve.dashes is None else curve.dashes:
        line.set_dashes(look)
    if (alone := _alone(middle)).any():
        axes.plot(epochs[alone], middle[alone], "o", color=hue(index), markersize=4.5, markeredgewidth=0, zorder=3)
    if len(runs) > 1:
        std = runs.std(0, ddof=1).filled(np.nan)
        axes.fill_between(epochs, middle - std, middle + std, color=hue(index), alpha=shade, linewidth=0)
    if curve.marks:
        x, y = zip(*((epoch + 1, 100 * value) for epoch, value in curve.marks), strict=True)
        axes.plot(x, y, "o", markersize=4.5, markeredgewidth=0, color=hue(index), alpha=0.9, zorder=4)


def _alone(values: Floats) -> NDArray[np.bool_]:
    # those between two that are no numbers, to which no line goes
    there: NDArray[np.bool_] = np.pad(np.isfinite(values), 1)
    alone: NDArray[np.bool_] = there[1:-1] & ~there[:-2] & ~there[2:]
    return alone


def matrix(
    name: str, title: str, shares: Floats, names: Sequence[str], *, axis: tuple[str, str], cells: Cells | None
) -> str:
    """A heat map of shares in 0 … 1, blank where nothing was counted; `axis` says what rows and columns are."""
    classes = len(names)
    labels = [shorten(each) for each in names] if classes <= MOST_NAMES else []
    longest = max(map(len, labels), default=3)
    left, bottom = 26 + 5.6 * longest, 42 if longest <= 3 else 26 + 5.6 * longest
    size = (round(SIDE + left + 8), round(SIDE + bottom + 8))
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=left, bottom=bottom, right=8, top=8))
        _heat(axes, shares, cells or (), fontsize=9.5 if classes > 8 else 11)
        _name(axes, labels, classes)
        axes.set_xlabel(axis[1])
        axes.set_ylabel(axis[0], rotation_mode="anchor")
        axes.yaxis.set_label_coords(-(left - 12) / SIDE, 0.5)
        axes.xaxis.set_label_coords(0.5, -(bottom - 14) / SIDE)
        axes.spines[:].set(visible=True, alpha=0.35)
        return inline(figure, name, title)


def transitions(title: str, drawn: Mapping[str, Floats], columns: int = 5) -> str:
    """A whole SVG file on white with one T[i, j] = P(given j | true i) beside the other, each in per cent.

    A table that is not square has inputs for rows, P(given j | input i).
    """
    width, height = 196, 218
    size = (columns * width, -(-len(drawn) // columns) * height)
    with sheet(size) as figure:
        figure.set_facecolor("white")
        for place, (name, T) in enumerate(drawn.items()):
            left, top = place % columns * width, place // columns * height
            margins = {"left": left + 32, "right": size[0] - left - width + 6, "top": top + 24}
            axes = figure.add_axes(box(size, **margins, bottom=size[1] - top - height + 34))
            _heat(axes, T, [list(map(_percent, row)) for row in T], fontsize=7)
            square = T.shape[0] == T.shape[1]
            axes.set_title(name, fontsize=9.5, loc="left", pad=6)
            axes.set_xlabel("given", fontsize=8, labelpad=2)
            axes.set_ylabel("true" if square else "input", fontsize=8, labelpad=2)
            axes.set(xticks=range(T.shape[1]), yticks=range(T.shape[0]) if square else [])
            axes.tick_params(length=0, labelsize=7.5, pad=2)
            axes.spines[:].set(visible=True, alpha=0.35)
        inside = inline(figure, "T", title).removeprefix("<svg ")
    look = "color: #1b1f24; font-family: sans-serif"
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" style="{look}" {inside}\n'


def _percent(share: float) -> str:
    # short enough for a small cell, and nothing where it would be 0
    text = f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.1f}".removesuffix(".0")
    return "" if text == "0" else text


def _heat(axes: Axes, shares: Floats, cells: Cells, fontsize: float) -> None:
    opacity = np.sqrt(np.nan_to_num(shares).clip(0, 1))
    red, green, blue = (np.full_like(opacity, each) for each in HEAT)
    axes.imshow(np.stack([red, green, blue, opacity], -1), interpolation="none", aspect="auto")
    for i, row in enumerate(cells):
        for j, text in enumerate(row):
            ink = "white" if opacity[i, j] > STRONG else INK
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=fontsize)


def _name(axes: Axes, labels: Sequence[str], classes: int) -> None:
    axes.tick_params(length=0)
    if not labels:
        ticks = sorted({0, *range(classes // 4, classes, max(classes // 4, 1)), classes - 1})
        axes.set_xticks(ticks, [str(tick + 1) for tick in ticks])
        axes.set_yticks(ticks, [str(tick + 1) for tick in ticks])
        return
    size = 10 if classes <= MOST_NUMBERS else 8.5
    short = max(map(len, labels)) <= 3
    turned: dict[str, Any] = {} if short else {"rotation": 90, "ha": "right", "va": "center", "rotation_mode": "anchor"}
    axes.set_xticks(range(classes), labels, fontsize=size, **turned)
    axes.set_yticks(range(classes), labels, fontsize=size)


def reliability(name: str, title: str, bins: Floats) -> str:
    """Accuracy by confidence, from rows, sum of confidence and number correct of each bin (bins, 3)."""
    size = (260, 250)
    rows, confidence, correct = bins[bins[:, 0] > 0].T
    edges = np.arange(len(bins))[bins[:, 0] > 0] / len(bins)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=42, bottom=40, right=10, top=8))
        axes.plot([0, 100], [0, 100], color=INK, alpha=0.5, linewidth=0.9, dashes=(4, 3))
        axes.bar(100 * edges, 100 * correct / rows, 100 / len(bins), align="edge", color=hue(0), alpha=0.28)
        axes.plot(100 * confidence / rows, 100 * correct / rows, "o-", color=hue(0), markersize=3.5, linewidth=1.2)
        axes.set(xlim=(0, 100), ylim=(0, 102), xticks=range(0, 101, 25), yticks=range(0, 101, 25))
        axes.set_xlabel("confidence, %")
        axes.set_ylabel("accuracy, %", rotation_mode="anchor")
        return inline(figure, name, title)


def regions(name: str, title: str, plane: Plane) -> str:
    """The plane in the colours of the predicted classes, with training points by given label, hollow where wrong."""
    left, right, bottom, top = plane.frame
    size = (300, round(30 + 256 * min(max((top - bottom) / (right - left), 0.6), 1)))
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=36, bottom=22, right=8, top=8))
        lines, columns = plane.probs.shape[1:]
        grid = np.linspace(left, right, columns), np.linspace(bottom, top, lines)
        for index, probs in enumerate(plane.probs):
            lead = probs - np.delete(plane.probs, index, axis=0).max(0)
            for field, level in ((lead, 0.0), *((probs, level) for level in SURE)):
                axes.contourf(*grid, field, levels=[level, 2], colors=[hue(index)], alpha=0.1)
            axes.contour(*grid, lead, levels=[0], colors=[INK], linewidths=0.9)
        for index in range(len(plane.probs)):
            _scatter(axes, index, plane)
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.spines[:].set(visible=True, alpha=0.35)
        return inline(figure, name, title)


def _scatter(axes: Axes, index: int, plane: Plane) -> None:
    for hollow in (False, True):
        x, y = plane.points[(plane.given == index) & (plane.wrong == hollow)].T
        axes.plot(x, y, linestyle="", zorder=3, **marker(index, hollow=hollow))


def sign(name: str, index: int, *, hollow: bool = False) -> str:
    """A point as it looks among decision regions, for a key."""
    return single(name, f"point {index + 1}", marker(index, hollow=hollow))


def shorten(text: str, most: int = 14) -> str:
    """A name that fits beside an axis, without what no font can show."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"
