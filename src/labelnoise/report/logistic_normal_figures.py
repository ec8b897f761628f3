"""Figures of one paper, as inline SVG in the manner of `figures.py`.

Englesson et al., Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023: a normal law among logits and
on the simplex (Figure 1), what a residual counts (2), accuracy by two hyper-parameters (5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from labelnoise.losses import attenuated
from labelnoise.report.canvas import INK, Floats, box, dashes, hue, inline, sheet
from labelnoise.report.figures import HEAT, STRONG

SHARES = (0.5, 0.8, 0.95)  # of a law, that its contours enclose
CORNERS = np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]])  # of the simplex
MOST_NUMBERS = 30  # settings up to which each has its accuracy written on it
STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Law:
    """A normal law in the plane, which stands for two logits above a third that is 0."""

    name: str
    mean: Floats  # (2,)
    root: Floats  # (2, 2), of the covariance


def best_law(name: str, share: float, *, height: float, floor: float) -> Law:
    """That of an input which is labelled A with this probability and else B, where labels lie at this height."""
    spread = max(height * (2 * share * (1 - share)) ** 0.5, floor)  # along the line between the two labels
    along = np.array([1, -1]) / 2**0.5
    root = floor * np.eye(2) + (spread - floor) * np.outer(along, along)
    return Law(name, height * np.array([share, 1 - share]), root)


@dataclass(frozen=True)
class Tried:
    """Settings that a search has tried, of one hyper-parameter or of two, and what they gave."""

    names: Sequence[str]
    logarithmic: Sequence[bool]  # whether a hyper-parameter is searched by its order of magnitude
    values: Floats  # (n, 1) or (n, 2)
    accuracies: Mapping[str, Floats]  # by name, (n,) each, NaN of failed runs
    chosen: int


def logit_plane(name: str, title: str, laws: Sequence[Law], height: float) -> str:
    """Contours of laws among the logits of two classes, with the labels of both, which lie at this height."""
    size, reach = (300, 280), 1.75 * height
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=42, bottom=40, right=8, top=8))
        for index, law in enumerate(laws):
            _law(axes, index, [_ellipse(law, share) for share in SHARES], law.mean)
            axes.plot([], [], color=hue(index), linewidth=1.6, label=law.name)
        for (x, y), label in (((height, 0), "label A"), ((0, height), "label B")):
            _named_point(axes, x, y, label)
        axes.axhline(0, color=INK, alpha=0.35, linewidth=0.6)
        axes.axvline(0, color=INK, alpha=0.35, linewidth=0.6)
        low = 0.55 * height - reach
        axes.set(xlim=(low, low + 2 * reach), ylim=(low, low + 2 * reach), xlabel="logit of A")
        axes.set_ylabel("logit of B", rotation_mode="anchor")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, steps=STEPS))
        axes.legend(frameon=False, loc="upper right", handlelength=1.4, fontsize=9.5)
        return inline(figure, name, title)


def simplex(name: str, title: str, laws: Sequence[Law], height: float) -> str:
    """The same contours and labels as probabilities of two classes and a dummy: softmax of (logits, 0)."""
    size = (300, 280)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=20, bottom=24, right=20, top=20))
        axes.fill(*CORNERS.T, facecolor="none", edgecolor=INK, alpha=0.5, linewidth=0.8)
        for index, law in enumerate(laws):
            _law(axes, index, [_on_simplex(_ellipse(law, share)) for share in SHARES], _on_simplex(law.mean))
        for label in ([height, 0.0], [0.0, height]):
            axes.plot(*_on_simplex(np.array(label)), "D", color=INK, markersize=4, zorder=4)
        for corner, (x, y) in zip(("A", "B", "dummy"), CORNERS, strict=True):
            axes.text(x, y + (0.045 if y else -0.045), corner, ha="center", va="bottom" if y else "top")
        axes.set_aspect("equal")
        axes.set(xlim=(-0.04, 1.04), ylim=(-0.08, 0.96))
        axes.set_axis_off()
        return inline(figure, name, title)


def attenuation(name: str, title: str, floors: Sequence[float], *, whole: bool) -> str:
    """What a residual counts under the best covariance, by its length: the whole loss, or the part of the label."""
    size = (300, 240)
    r = torch.linspace(0, 4, 401, dtype=torch.float64)
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=42, bottom=40, right=8, top=8))
        for index, floor in enumerate(floors):
            at = torch.cat([r, torch.tensor([floor], dtype=torch.float64)])
            value = attenuated(at, floor)[0] if whole else (at / floor).square().clamp(max=1)
            axes.plot(r, value[:-1], color=hue(index), linewidth=1.6, label=f"λ = {floor:g}")
            axes.plot(floor, value[-1], "o", color=hue(index), markersize=4.5)
        axes.set(xlim=(0, 4), xlabel="residual ‖r‖")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("loss" if whole else "rᵀΣ⁻¹r", rotation_mode="anchor")
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        axes.grid(visible=True, axis="y")
        axes.legend(frameon=False, loc="lower right", handlelength=1.4)
        return inline(figure, name, title)


def accuracy_map(name: str, title: str, tried: Tried, measure: str) -> str:
    """Accuracy by two hyper-parameters: a point for each setting, the stronger the better, the chosen one ringed."""
    size = (380, 300)
    accuracy = 100 * tried.accuracies[measure]
    few = len(accuracy) <= MOST_NUMBERS
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=56, bottom=40, right=8, top=8))
        low, high = np.nanmin(accuracy), np.nanmax(accuracy)
        for (x, y), each in zip(tried.values, accuracy, strict=True):
            if np.isnan(each):
                axes.plot(x, y, "x", color=INK, markersize=7, zorder=3)
                continue
            opacity = 0.08 + 0.87 * (each - low) / max(high - low, 1e-9)
            look: dict[str, Any] = {"markeredgecolor": INK, "markeredgewidth": 0.4, "zorder": 3}
            axes.plot(x, y, "o", color=(*HEAT, opacity), markersize=27 if few else 9, **look)
            if few:
                ink = "white" if opacity > STRONG else INK
                axes.text(x, y, f"{each:.1f}", ha="center", va="center", color=ink, fontsize=9, zorder=4)
        x, y = tried.values[tried.chosen]
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": hue(1), "markeredgewidth": 2}
        axes.plot(x, y, "o", markersize=31 if few else 13, zorder=5, **ring)
        axes.margins(0.14)
        _scale(axes, tried)
        axes.grid(visible=True, axis="both")
        return inline(figure, name, title)


def accuracy_curves(name: str, title: str, tried: Tried) -> str:
    """Accuracy by one hyper-parameter, a curve for each measure, the chosen setting ringed."""
    size = (380, 260)
    order = np.argsort(tried.values[:, 0])
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=40, bottom=40, right=8, top=8))
        for index, accuracy in enumerate(tried.accuracies.values()):
            x, y = tried.values[order, 0], 100 * accuracy[order]
            (line,) = axes.plot(x, y, "o-", color=hue(index), markersize=3.5, linewidth=1.6, zorder=3)
            if dashes(index):
                line.set_dashes(dashes(index))
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": hue(index), "markeredgewidth": 1.6}
            axes.plot(tried.values[tried.chosen, 0], 100 * accuracy[tried.chosen], "o", markersize=10, **ring)
        axes.margins(0.06, 0.12)
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        _scale(axes, tried)
        axes.grid(visible=True, axis="y")
        return inline(figure, name, title)


def _scale(axes: Axes, tried: Tried) -> None:
    both = ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale))
    for (axis, set_scale), name, logarithmic in zip(both, tried.names, tried.logarithmic, strict=False):
        if logarithmic:
            set_scale("log")
        axis.set_label_text(name)
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)) if logarithmic else MaxNLocator(6, steps=STEPS))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _law(axes: Axes, index: int, contours: Sequence[Floats], middle: Floats) -> None:
    for contour in contours:
        axes.fill(*contour.T, facecolor=hue(index), alpha=0.12, linewidth=0)
        axes.plot(*contour.T, color=hue(index), linewidth=1.1)
    axes.plot(*middle, "o", color=hue(index), markersize=4.5)


def _named_point(axes: Axes, x: float, y: float, label: str) -> None:
    axes.plot(x, y, "D", color=INK, markersize=4, zorder=4)
    axes.annotate(label, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=9.5, zorder=4)


def _ellipse(law: Law, share: float) -> Floats:
    # what lies within √(-2 log(1 - share)) standard deviations is this share of a normal law in the plane
    turn = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(turn), np.sin(turn)], -1)
    ellipse: Floats = law.mean + (-2 * np.log1p(-share)) ** 0.5 * circle @ law.root.T
    return ellipse


def _on_simplex(logits: Floats) -> Floats:
    # places (..., 2) in the triangle of probabilities
    raised = np.exp(logits)
    whole = np.concatenate([raised, np.ones_like(raised[..., :1])], -1)
    place: Floats = whole / whole.sum(-1, keepdims=True) @ CORNERS
    return place
