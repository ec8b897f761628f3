"""One page of several folders that differ in their noise: accuracy and divergences by realised noise rate.

After Figure 1 of Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from labelnoise.config import Named, digest, essential
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.methods import METHODS
from labelnoise.methods.base import nested
from labelnoise.methods.notation import untold
from labelnoise.report.canvas import Floats
from labelnoise.report.measured import number
from labelnoise.report.paper_figures import Trend, against_noise
from labelnoise.report.summary import CODE, cautions, informed, labelled, summary_of, told_settings
from labelnoise.report.tables import spread
from labelnoise.report.template import Panel, fill, legend
from labelnoise.results.store import Contents, Store
from labelnoise.sweep.plan import set_by_rate

ACCURACY = "accuracy"
PARTS = ("test part", "noisy validation")
CLEAN = "none"
LEVELS = ("low", "high")  # words for a rate
MAY_DIFFER = ("noise", "transition")  # between the folders


class Point(NamedTuple):
    """One method under one noise."""

    method: Mapping[str, Any]  # name and settings, without those that the noise rate sets
    kind: str  # of the noise, without its rate
    rate: float  # of wrong training labels, mean over runs
    values: Mapping[str, Floats]  # by measure, (runs, 2): on the test part and on noisy validation


def write_over_noise(stores: Sequence[Store], path: Path) -> None:
    """Write the page; whoever opens it sees the old one or the new one, whole."""
    write(path, over_noise(stores))


def over_noise(stores: Sequence[Store]) -> str:
    """The whole page."""
    if len({store.folder.resolve() for store in stores}) < len(stores):
        raise InputError("a folder is named twice; name each once")
    held = {store.folder: store.contents() for store in stores}
    _check_same(held)
    points = [point for folder, each in held.items() for point in _points(folder, each)]
    if not points:
        raise InputError("no run in these folders has finished without failing; there is nothing to draw")
    summaries = {folder: summary_of(each) for folder, each in held.items()}
    first = next(iter(held.values())).facts["data"]
    methods = _curves(sorted(points, key=lambda point: point.rate))
    names = list(dict.fromkeys(name for point in points for name in point.values))
    return fill(
        "over_noise.html",
        f"{first['name']}, by noise",
        reference=next(iter(summaries.values())).reference,
        legend=legend(list(methods)),
        panels={name: _panels(place, name, methods) for place, name in enumerate(names)},
        table=[(label, [_line(point, names) for point in each]) for label, each in methods.items()],
        remarks=[
            f"{folder}: {sentence}"
            for folder, each in held.items()
            for sentence in cautions(each, summaries[folder].rows)
        ],
        folders={str(folder): f"{summary.title}: {summary.noise_rate}" for folder, summary in summaries.items()},
    )


def _curves(points: Sequence[Point]) -> dict[str, list[Point]]:
    # by method and, where there are several, kind of noise; no noise at all is the beginning of every kind
    unlike = {digest(point.method): point.method for point in points}
    names = dict(zip(unlike, labelled(list(unlike.values()), {}), strict=True))
    kinds = list(dict.fromkeys(point.kind for point in points if point.kind != CLEAN)) or [CLEAN]
    found: dict[str, list[Point]] = {}
    for mark, name in names.items():
        own = [point for point in points if digest(point.method) == mark]
        for kind in kinds:
            label = f"{name}, {kind}" if len(kinds) > 1 else name
            found[label] = [point for point in own if point.kind in (kind, CLEAN)]
    return {label: each for label, each in found.items() if each}


def _kind(noise: str) -> str:
    # symmetric of symmetric:0.4, asymmetric:next of asymmetric:0.4:next
    first, *rest = noise.split(":")
    return ":".join([first, *(word for word in rest if word.isalpha() and word not in LEVELS)])


def _check_same(held: Mapping[Path, Contents]) -> None:
    (first, ours), *others = ((folder, essential(each.facts["base"])) for folder, each in held.items())
    for folder, theirs in others:
        keys = [key for key in dict.fromkeys([*ours, *theirs]) if key not in MAY_DIFFER]
        other = [key for key in keys if digest(ours.get(key)) != digest(theirs.get(key))]
        if other:
            raise InputError(
                f"{folder} and {first} differ in more than their noise (not the same: {', '.join(other)}); "
                "give folders of the same data, network and training"
            )


def _points(folder: Path, held: Contents) -> list[Point]:
    found = []
    for row in summary_of(held).rows:
        by_rate = set_by_rate(Named(row.method)) if row.method in METHODS else told_settings(held, row)
        rates = [run.noise_rate for run in row.finished if run.noise_rate is not None]
        if len(rates) < row.runs:
            raise InputError(
                f"{folder} holds runs whose true labels are unknown, and so is their noise rate; leave it out"
            )
        if rates:
            accuracy = np.stack([row.accuracies["selected"], row.scores], -1)
            values = {name: value.double().numpy() for name, value in informed(row).items()}
            settings = {name: value for name, value in row.settings.items() if name not in by_rate}
            settings |= {name: untold(settings[name]) for name in nested(row.method) if name in settings}
            if code := row.finished[0].config.get("code"):
                settings["code"] = code[:CODE]
            method = {"name": row.method, "settings": settings}
            found.append(Point(method, _kind(held.facts["base"]["noise"]), mean(rates), {ACCURACY: accuracy, **values}))
    return found


def _panels(place: int, name: str, methods: Mapping[str, Sequence[Point]]) -> list[Panel]:
    panels = []
    for column, part in enumerate(PARTS):
        caption = f"{name[0].upper()}{name[1:]}, {part}"
        drawn = []
        for each in methods.values():
            known = [point for point in each if name in point.values]
            drawn.append(Trend([point.rate for point in known], [point.values[name][:, column] for point in known]))
        axis, title = ("%" if name == ACCURACY else name), f"{caption}, by noise rate, for {', '.join(methods)}"
        svg = against_noise(f"trend{place}-{column}", title, drawn, axis, percent=name == ACCURACY)
        panels.append(Panel(svg, caption))
    return panels


def _line(point: Point, names: Sequence[str]) -> dict[str, Any]:
    cells = []
    for name in names:
        shown = spread if name == ACCURACY else number
        cells += [shown(part) for part in point.values[name].T.tolist()] if name in point.values else ["–", "–"]
    return {"rate": f"{100 * point.rate:.1f}", "runs": len(point.values[ACCURACY]), "cells": cells}
