"""What three papers measure of a run, as a report shows it: figures and tables, of rows that have the data for them.

Lukasik et al., Does label smoothing mitigate label noise?, ICML 2020: margins, features on a plane, lines between two
Gaussians. Wei and Liu, When optimizing f-divergence is robust with label noise, ICLR 2021: FIT and divergences.
Englesson et al., Logistic-normal likelihoods for heteroscedastic label noise, TMLR 2023: residuals, and what a search
says of hyper-parameters.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np

from labelnoise.methods import METHODS
from labelnoise.methods.base import hyper_fields
from labelnoise.metrics.separator import Separator
from labelnoise.report.canvas import Floats
from labelnoise.report.figures import MOST_NUMBERS, sign
from labelnoise.report.logistic_normal_figures import Tried, accuracy_curves, accuracy_map
from labelnoise.report.paper_figures import Cloud, black_sign, densities, projection, separators
from labelnoise.report.summary import Row, Trial, informed
from labelnoise.report.template import Panel, legend
from labelnoise.results.store import Run
from labelnoise.sweep.headline import listed

MARGINS = {  # of a training row: the part of them, and the label that is meant, as places in `margin_counts`
    "rightly labelled rows: their label": (1, 1),
    "wrongly labelled rows: their label": (2, 1),
    "wrongly labelled rows: their true class": (2, 0),
}
RESIDUALS = {  # details of single training rows, as logarithms to the base of ten
    "examined_residual": ("‖r‖²", "without the covariance"),
    "examined_weighted": ("rᵀΣ⁻¹r", "with it"),
}
ROWS = ("rightly labelled rows", "wrongly labelled rows")
BINS = 50  # of numbers of single rows
TRIED = {"last": "after the last epoch", "selected": "at the epoch that noisy validation has chosen"}
CLOUD = ("points", "given", "wrong")  # what a picture of points is made of


def measured_once(row: Row, name: str) -> list[Floats]:
    """A detail of every finished run that has it."""
    return [run.details[name].double().numpy() for run in row.finished if name in run.details]


def history(row: Row, measure: str) -> Floats:
    """A measure by epoch, (runs, epochs), cut to what all runs have."""
    values = [[record.measures.get(measure, np.nan) for record in run.records] for run in row.finished]
    shortest = min(map(len, values))
    return np.array([each[:shortest] for each in values], dtype=np.float64)


def examined(row: Row, names: Collection[str]) -> list[Run]:
    """The runs that have these numbers of single training rows, of which some are known to be labelled wrongly."""
    wanted = {*names, "examined_wrong"}
    return [run for run in row.finished if wanted <= run.details.keys() and run.details["examined_wrong"].any()]


def counted(run: Run, name: str, span: tuple[float, float], *, wrong: bool) -> Floats:
    """A histogram of such numbers over rows that are labelled rightly, or wrongly; the outermost are at the ends."""
    values = run.details[name].double().numpy()[run.details["examined_wrong"].numpy() == wrong]
    inside = values[~np.isnan(values)].clip(*span)
    return np.histogram(inside, BINS, span)[0].astype(np.float64)


def percents(T: Floats) -> list[list[str]] | None:
    """What the cells of a transition matrix say, if it is small enough to say it."""
    if len(T) > MOST_NUMBERS:
        return None
    digits = 1 if len(T) <= 5 else 0
    return [["" if np.isnan(share) else f"{100 * share:.{digits}f}" for share in row] for row in T]


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


def residuals(rows: Sequence[Row]) -> dict[str, Any]:
    """Densities of residuals before and after the learnt covariance, for methods that have one, and their key."""
    found = {(place, row.label): examined(row, RESIDUALS) for place, row in enumerate(rows)}
    runs = [run for some in found.values() for run in some]
    panels = []
    span = decades([run.details[name].double().numpy() for run in runs for name in RESIDUALS])
    for (place, label), some in found.items():
        for name, (what, when) in RESIDUALS.items() if some else ():
            drawn = [np.stack([counted(run, name, span, wrong=wrong) for run in some]) for wrong in (False, True)]
            caption = f"{label}: {what}, {when}"
            svg = densities(f"{name}{place}", f"Density of {caption}", drawn, span, what, decades=True)
            panels.append(Panel(svg, caption))
    return {"panels": panels, "legend": legend(ROWS)}


def sensitivities(trials: Mapping[str, Sequence[Trial]]) -> dict[str, dict[str, Any]]:
    """By method, test accuracy over the one or two hyper-parameters that a search has varied, and its key."""
    found = {}
    for place, (method, some) in enumerate(trials.items()):
        tried, panels = _tried(method, some), []
        if tried and len(tried.names) == 1:
            title = f"Test accuracy of {method} in %, by {tried.names[0]}"
            panels = [Panel(accuracy_curves(f"tried{place}", title, tried), "Test accuracy in %")]
        elif tried:
            for index, (name, values) in enumerate(tried.accuracies.items()):
                title = f"Test accuracy of {method} in %, by {' and '.join(tried.names)}, {name}"
                caption = (
                    f"Test accuracy {name}: {_percent(np.nanmin(values))} (pale) to {_percent(np.nanmax(values))} %"
                )
                panels.append(Panel(accuracy_map(f"tried{place}_{index}", title, tried, name), caption))
        found[method] = {"panels": panels, "legend": legend(list(TRIED.values())) if len(panels) == 1 else []}
    return found


def projections(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Features on the plane of three classes, a panel for the first seed of every method, and their key."""
    panels: list[Panel] = []
    shown: list[str] = []  # the classes of the key
    wrong = known = False
    for place, row in enumerate(rows):
        run = row.finished[0]
        cloud = _cloud(run, "projection")
        if cloud and np.isfinite(cloud.points).all():
            classes = run.details["projection_classes"].numpy()
            own, caption = [names[each] for each in classes], f"{row.label}, seed {run.config['seed']}"
            shown = shown or own
            if own != shown:
                caption += f": {listed(own)} in place of {listed(shown)}"
            order = Cloud(cloud.points, (cloud.given[:, None] == classes).argmax(1), cloud.wrong)
            title = f"Features of {caption}, on the plane of three classes"
            panels.append(Panel(projection(f"projection{place}", title, order), caption))
            wrong |= bool(cloud.wrong.any())
            known |= run.noise_rate is not None
    key = [(sign(f"feature{index}", index), f"labelled {name}") for index, name in enumerate(shown)]
    if wrong:
        key.append((black_sign("black"), "labelled wrongly, in the shape of the given label"))
    return {"panels": panels, "key": key, "wrong": wrong, "known": known, "others": len(names) > len(shown)}


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


def decades(values: Sequence[Floats]) -> tuple[float, float]:
    """Whole powers of ten that hold all but the outermost of these logarithms."""
    every = np.concatenate([each.ravel() for each in values]) if values else np.zeros(1)
    every = every[np.isfinite(every)]
    low, high = np.percentile(every, [0.5, 99.5]) if len(every) else (0.0, 1.0)
    return math.floor(low), max(math.ceil(high), math.floor(low) + 1)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _tried(method: str, trials: Sequence[Trial]) -> Tried | None:
    names = list(trials[0].values) if trials else []
    if not 1 <= len(names) <= 2 or not any(trial.accuracies for trial in trials):
        return None
    ranges = hyper_fields(METHODS.get(method)) if method in METHODS else {}
    if not all(isinstance(value, float | int) for trial in trials for value in trial.values.values()):
        return None
    return Tried(
        names=names,
        logarithmic=[name in ranges and ranges[name].log for name in names],
        values=np.array([list(trial.values.values()) for trial in trials], dtype=np.float64),
        accuracies={
            told: np.array([each.accuracies.get(rule, np.nan) for each in trials]) for rule, told in TRIED.items()
        },
        chosen=next((place for place, trial in enumerate(trials) if trial.chosen), 0),
    )


def _cloud(run: Run, kind: str) -> Cloud | None:
    details: Mapping[str, Any] = run.details
    found = {name: details[f"{kind}_{name}"].numpy() for name in CLOUD if f"{kind}_{name}" in details}
    return Cloud(**found) if len(found) == len(CLOUD) else None


def _crossing(line: Floats) -> float:
    a, b, c = line.tolist()
    return Separator((a + b) / math.sqrt(2), c).crossing
