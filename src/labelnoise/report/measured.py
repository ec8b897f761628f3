"""What two papers measure of a run, as a report shows it: figures and tables, of rows that have the data for them.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020: margins, features on a plane, lines between two
Gaussians. Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021: FIT and divergences.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np

from labelnoise.metrics.separator import Separator
from labelnoise.report.canvas import Floats
from labelnoise.report.figures import sign
from labelnoise.report.paper_figures import Cloud, black_sign, densities, projection, separators
from labelnoise.report.summary import Row, informed
from labelnoise.report.template import Panel, legend
from labelnoise.results.store import Run

MARGINS = {  # of a training row: the part of them, and the label that is meant, as places in `margin_counts`
    "rightly labelled rows: their label": (1, 1),
    "wrongly labelled rows: their label": (2, 1),
    "wrongly labelled rows: their true class": (2, 0),
}
CLOUD = ("points", "given", "wrong")  # what a picture of points is made of


def measured_once(row: Row, name: str) -> list[Floats]:
    """A detail of every finished run that has it."""
    return [run.details[name].double().numpy() for run in row.finished if name in run.details]


def number(values: Sequence[float]) -> str:
    """Mean and spread of plain numbers."""
    shown = f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")
    return shown.replace("-", "\N{MINUS SIGN}")


def margins(rows: Sequence[Row], classes: int) -> dict[str, Any]:
    """Densities of margins, a panel for every method whose wrong labels are known, and their key."""
    panels, span = [], (-1 / classes, 1 - 1 / classes)
    for place, row in enumerate(rows):
        found = [each for each in measured_once(row, "margin_counts") if each[2].any()]  # some labels are wrong
        if found:
            drawn = [np.stack([each[at] for each in found]) for at in MARGINS.values()]
            title = f"{row.label}, density of margins on the training part: {'; '.join(MARGINS)}"
            panels.append(Panel(densities(f"margin{place}", title, drawn, span), row.label))
    return {"panels": panels, "legend": legend(list(MARGINS))}


def projections(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Features on the plane of three classes, a panel for the first seed of every method, and their key."""
    panels: list[Panel] = []
    shown: list[str] = []  # the classes of the key
    wrong = False
    for place, row in enumerate(rows):
        run = row.finished[0]
        cloud = _cloud(run, "projection")
        if cloud and np.isfinite(cloud.points).all():
            classes = run.details["projection_classes"].numpy()
            own, caption = [names[each] for each in classes], f"{row.label}, seed {run.config['seed']}"
            shown = shown or own
            if own != shown:
                caption += f": {', '.join(own)} in place of {', '.join(shown)}"
            order = Cloud(cloud.points, (cloud.given[:, None] == classes).argmax(1), cloud.wrong)
            title = f"Features of {caption}, on the plane of three classes"
            panels.append(Panel(projection(f"projection{place}", title, order), caption))
            wrong |= bool(cloud.wrong.any())
    key = [(sign(f"feature{index}", index), f"labelled {name}") for index, name in enumerate(shown)]
    if wrong:
        key.append((black_sign("black"), "labelled wrongly, in the shape of the given label"))
    return {"panels": panels, "key": key}


def lines(rows: Sequence[Row]) -> dict[str, Any]:
    """The lines by which linear networks part the two Gaussians, of all first seeds in one panel, with their crossings.

    A crossing is where a line meets the diagonal, at (t, t) / √2: at 0 where it is best.
    """
    linear = [row for row in rows if "line" in row.finished[0].details and _cloud(row.finished[0], "plane")]
    if not linear:
        return {"panel": None, "legend": []}
    first = linear[0].finished[0]
    drawn = np.stack([row.finished[0].details["line"].double().numpy() for row in linear])
    caption = f"Seed {first.config['seed']}; + labelled positive, – negative, dots labelled wrongly"
    title = f"Lines between two Gaussians: {', '.join(row.label for row in linear)}"
    crossings = [[_crossing(line) for line in measured_once(row, "line")] for row in linear]
    told = [f"{row.label}: t = {number(each)}" for row, each in zip(linear, crossings, strict=True)]
    cloud = _cloud(first, "plane")
    return {"panel": cloud and Panel(separators("lines", title, cloud, drawn), caption), "legend": legend(told)}


def told(rows: Sequence[Row]) -> list[tuple[str, dict[str, list[str]]]]:
    """By method, each measure of what predictions tell of labels, on the test part and on noisy validation."""
    found = [(row.label, informed(row)) for row in rows]
    return [
        (label, {n: [number(part) for part in v.T.tolist()] for n, v in each.items()}) for label, each in found if each
    ]


def _cloud(run: Run, kind: str) -> Cloud | None:
    details: Mapping[str, Any] = run.details
    found = {name: details[f"{kind}_{name}"].numpy() for name in CLOUD if f"{kind}_{name}" in details}
    return Cloud(**found) if len(found) == len(CLOUD) else None


def _crossing(line: Floats) -> float:
    a, b, c = line.tolist()
    return Separator((a + b) / math.sqrt(2), c).crossing
