"""The figures of three papers, as inline SVG in the manner of `figures.py`, and the picture of the losses.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020: losses by margin (Figure 1), densities of margins
(3, 7), features on the plane of three classes (4), lines between two Gaussians (5). Wei and Liu, When optimizing
f-divergence is robust with label noise, ICLR 2021: divergence and accuracy by noise rate (1). Englesson et al.,
Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023: densities of residuals (6, 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from labelnoise.report.canvas import GROUND, INK, Floats, box, dashes, hue, inline, marker, sheet, single
from labelnoise.report.gallery import on_white

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CELL = (300, 356)  # of one family of losses, in pixels


@dataclass(frozen=True)
class Cloud:
    """Labelled points in a plane."""

    points: Floats  # (n, 2)
    given: NDArray[np.int64]  # (n,), classes counted from 0, in the order of the colours
    wrong: NDArray[np.bool_]  # (n,), whether these are known to be wrong


@dataclass(frozen=True)
class Trend:
    """One quantity by another, such as a noise rate."""

    places: Sequence[float]  # rising
    values: Sequence[Floats]  # for each of them the runs' values, (runs,)
    published: Sequence[tuple[float, float]] = ()  # places with values that someone else has printed


@dataclass(frozen=True)
class Family:
    """Losses of one kind over the same margins, each with its derivative, by the name that a key shows."""

    title: str
    margin: Floats  # (n,)
    curves: Mapping[str, tuple[Floats, Floats]]  # loss and derivative, (n,) each
    axis: str = "margin of the label"
    most: tuple[float, float] | None = None  # loss and size of a derivative beyond which nothing is shown


def densities(
    name: str,
    title: str,
    drawn: Sequence[Floats],
    span: tuple[float, float],
    axis: str = "margin of the label",
    *,
    decades: bool = False,
) -> str:
    """Densities, mean over runs, from counts (runs, bins) in equal bins of `span`; of logarithms if in decades."""
    size = (300, 200)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=46, bottom=40, right=8, top=8))
        for index, counts in enumerate(drawn):
            bins = counts.shape[1]
            width = (span[1] - span[0]) / bins
            rows = counts.sum(1, keepdims=True)
            density = (counts / np.where(rows > 0, rows, np.nan) / width).mean(0)
            edges, dash = np.linspace(*span, bins + 1), (0, dashes(index) or (1, 0))
            axes.stairs(density, edges, baseline=None, color=hue(index), linewidth=1.4, linestyle=dash)
            axes.stairs(density, edges, color=hue(index), fill=True, alpha=0.12, linewidth=0)
        axes.set(xlim=span, xlabel=axis)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("density", rotation_mode="anchor")
        _ticks(axes)
        if decades:
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
            axes.xaxis.set_major_formatter(lambda power, _: f"10{f'{power:.0f}'.translate(RAISED)}")
        return inline(figure, name, title)


def projection(name: str, title: str, cloud: Cloud) -> str:
    """Features on the plane of three classes, in shape and colour of the given label; wrong ones are black."""
    size = (300, 280)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=8, bottom=8, right=8, top=8))
        for index in range(3):
            x, y = cloud.points[(cloud.given == index) & ~cloud.wrong].T
            axes.plot(x, y, linestyle="", zorder=2, **marker(index, hollow=False))
            x, y = cloud.points[(cloud.given == index) & cloud.wrong].T
            axes.plot(x, y, linestyle="", zorder=3, **_black(index))
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, alpha=0.35)
        return inline(figure, name, title)


def black_sign(name: str) -> str:
    """A point that is labelled wrongly, for a key."""
    return single(name, "black point", _black())


def separators(name: str, title: str, cloud: Cloud, lines: Floats, first: int = 0) -> str:
    """Lines a x + b y + c = 0, as (n, 3), among points in the colour of the given label, black where it is wrong.

    The dashed line is the best, x + y = 0. The first line has the colour of this number.
    """
    size = (300, 280)
    reach = 1.6
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=30, bottom=24, right=8, top=8))
        for index, sign in enumerate("_+"):
            x, y = cloud.points[(cloud.given == index) & ~cloud.wrong].T
            axes.plot(x, y, sign, color=INK, alpha=0.3, markersize=4, markeredgewidth=0.8, zorder=2)
        x, y = cloud.points[cloud.wrong].T
        axes.plot(x, y, linestyle="", zorder=3, **_black())
        along = np.array([-2 * reach, 2 * reach])
        axes.plot(along, -along, color=INK, alpha=0.6, linewidth=0.9, dashes=(4, 3))
        for index, (a, b, c) in enumerate(lines, first):
            foot, turn = -c / (a**2 + b**2) * np.array([a, b]), np.array([-b, a]) / np.hypot(a, b)
            (line,) = axes.plot(*(foot[:, None] + turn[:, None] * along), color=hue(index), linewidth=1.6)
            if dashes(index):
                line.set_dashes(dashes(index))
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        axes.spines[:].set(visible=True, alpha=0.35)
        return inline(figure, name, title)


def against_noise(name: str, title: str, drawn: Sequence[Trend], axis: str, *, percent: bool = False) -> str:
    """A quantity by realised noise rate, which is shown in per cent."""
    in_percent = [
        replace(
            trend,
            places=[100 * rate for rate in trend.places],
            published=[(100 * rate, value) for rate, value in trend.published],
        )
        for trend in drawn
    ]
    return trends(name, title, in_percent, ("wrong labels, %", axis), percent=percent)


def trends(name: str, title: str, drawn: Sequence[Trend], called: tuple[str, str], *, percent: bool = False) -> str:
    """A quantity by another, mean over runs with a band of ± std; what others have printed as hollow diamonds."""
    size, factor = (380, 260), 100 if percent else 1
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=48, bottom=40, right=8, top=8))
        for index, trend in enumerate(drawn):
            if not trend.values:
                continue
            places = np.array(trend.places)
            middle, std = (factor * np.array(each) for each in zip(*map(_centre, trend.values), strict=True))
            (line,) = axes.plot(places, middle, "o-", color=hue(index), markersize=3.5, linewidth=1.6, zorder=3)
            if dashes(index):
                line.set_dashes(dashes(index))
            if std.any():
                axes.fill_between(places, middle - std, middle + std, color=hue(index), alpha=0.1, linewidth=0)
            for x, y in trend.published:
                look: dict[str, Any] = {"markerfacecolor": GROUND, "markeredgecolor": hue(index), "zorder": 4}
                axes.plot(x, factor * y, "D", markersize=5, **look)
        axes.set_xlabel(called[0])
        axes.set_ylabel(called[1], rotation_mode="anchor")
        axes.yaxis.set_label_coords(-36 / 324, 0.5)
        _ticks(axes)
        return inline(figure, name, title)


def loss_catalogue(title: str, families: Sequence[Family], columns: int = 3) -> str:
    """A whole SVG file on white, a cell for every family."""
    width, height = CELL
    size = (columns * width, -(-len(families) // columns) * height)
    with sheet(size) as figure:
        figure.set_facecolor("white")
        for place, family in enumerate(families):
            _family(figure, size, (place % columns * width, place // columns * height), family)
        return on_white(inline(figure, "losses", title), size)


def losses(name: str, title: str, family: Family) -> str:
    """Losses above, their derivatives below, a key at the foot."""
    with sheet(CELL) as figure:
        _family(figure, CELL, (0, 0), family)
        return inline(figure, name, title)


def _family(figure: Figure, size: tuple[int, int], corner: tuple[int, int], family: Family) -> None:
    upper = figure.add_axes(_cell(size, corner, top=26, height=144))
    lower = figure.add_axes(_cell(size, corner, top=182, height=84))
    for index, (label, (loss, derivative)) in enumerate(family.curves.items()):
        look: dict[str, Any] = {"color": hue(index), "linewidth": 1.5}
        upper.plot(family.margin, loss, label=label, **look)
        shown = np.abs(derivative) <= 2 * family.most[1] if family.most else True  # no line from one end to the other
        lower.plot(family.margin, np.where(shown, derivative, np.nan), **look)
    for axes in (upper, lower):
        axes.set_xlim(family.margin[0], family.margin[-1])
        axes.axhline(0, color=INK, alpha=0.35, linewidth=0.6, zorder=1)
        axes.grid(visible=True, axis="both")
        _ticks(axes)
        axes.yaxis.set_major_locator(MaxNLocator(5 if axes is upper else 3, steps=[1, 2, 5, 10]))
        axes.tick_params(labelsize=8.5)
    if family.most:
        upper.set_ylim(-0.05 * family.most[0], family.most[0])
        lower.set_ylim(-family.most[1], family.most[1])
    upper.tick_params(labelbottom=False)
    upper.set_title(family.title, fontsize=10.5, loc="left", pad=7)
    for axes, what in ((upper, "loss"), (lower, "derivative")):
        axes.set_ylabel(what, fontsize=8.5)
        axes.yaxis.set_label_coords(-32 / (CELL[0] - 58), 0.5)
    lower.set_xlabel(family.axis, fontsize=8.5, labelpad=2)
    handles, labels = upper.get_legend_handles_labels()
    key: dict[str, Any] = {"frameon": False, "borderaxespad": 0, "fontsize": 8.5, "handlelength": 1.4}
    lower.legend(handles, labels, loc="upper left", bbox_to_anchor=(-0.02, -0.36), ncols=2, columnspacing=1.2, **key)


def _cell(size: tuple[int, int], corner: tuple[int, int], top: int, height: int) -> tuple[float, float, float, float]:
    left, above = corner[0] + 46, corner[1] + top
    return box(size, left=left, top=above, right=size[0] - corner[0] - CELL[0] + 12, bottom=size[1] - above - height)


def _black(index: int = 0) -> dict[str, Any]:
    # in the dark, white: the colour of the page's text
    return {**marker(index, hollow=False), "markerfacecolor": INK}


def _centre(values: Floats) -> tuple[float, float]:
    return values.mean(), values.std(ddof=1) if len(values) > 1 else 0.0


def _ticks(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(visible=True, axis="y")
