"""Figures of curves, drawn from the numbers that runs have left: accuracies, and densities over training rows."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from labelnoise.papers.figures import Figure
from labelnoise.report.canvas import Floats
from labelnoise.report.figures import Curve
from labelnoise.report.figures import curves as over_epochs
from labelnoise.report.measured import BINS, RESIDUALS, decades
from labelnoise.report.paper_figures import Trend, against_noise, densities, trends
from labelnoise.report.template import Drawing, Panel, legend
from labelnoise.reproduce.series import Series

SPOKEN = {
    "test/accuracy_true": "test accuracy, %",
    "test/divergence": "divergence on the test part",
    "validation/accuracy_true": "true accuracy on validation, %",
    "train/clean_accuracy": "right training labels met, %",
    "train/wrong_accuracy_given": "wrong training labels met, %",
}


def by_noise(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each measure, a curve for each method."""
    methods, panels = unlike(found, "method"), []
    for place, measure in enumerate(unlike(found, "measure")):
        drawn = [_trend(_with(found, measure=measure, method=method), _rate) for method in methods]
        percent, spoken = "accuracy" in measure, SPOKEN.get(measure, measure)
        svg = against_noise(f"trend{place}", f"{spoken}, by noise rate", drawn, spoken, percent=percent)
        panels.append(Panel(svg, spoken))
    return Drawing(panels, "Means over seeds by the share of wrong labels, with a band of ± std.", legend(methods))


def by_setting(figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each data set, a curve for each method, by the number at the end of its name."""
    families, panels = list(dict.fromkeys(_family(each) for each in found)), []
    for place, data in enumerate(unlike(found, "data")):
        own = _with(found, data=data)
        drawn = [_trend([each for each in own if _family(each) == family], _setting) for family in families]
        caption = f"{data}: {SPOKEN[own[0].measure]}"
        svg = trends(f"trend{place}", f"{caption}, by {figure.across}", drawn, (figure.across, "%"), percent=True)
        panels.append(Panel(svg, caption))
    told = "Means over seeds with a band of ± std; hollow diamonds are what a table of the paper prints."
    return Drawing(panels, told, legend(families))


def by_epoch(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each measure and method, a curve for each noise."""
    methods, noises, panels = unlike(found, "method"), unlike(found, "noise"), list[Panel]()
    for measure in unlike(found, "measure"):
        for method in methods:
            there = [_with(found, measure=measure, method=method, noise=noise) for noise in noises]
            caption = f"{method}: {SPOKEN.get(measure, measure)}"
            drawn = [Curve(_stacked([each.numbers("value")[0] for each in own], 1)) for own in there]
            svg = over_epochs(f"curve{len(panels)}", f"{caption}, by epoch", drawn, small=True)
            panels.append(Panel(svg, caption))
    return Drawing(panels, "Means over seeds after each epoch, with a band of ± std.", legend(noises), len(methods))


def margins(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each part of the training rows and each of their labels, a curve for each method."""
    methods, panels = unlike(found, "method"), []
    low, high = found[0].numbers("low", "high")
    for place, measure in enumerate(unlike(found, "measure")):
        _, rows, label = measure.split("/")
        caption = f"{'all' if rows == 'all' else f'{rows}ly labelled'} rows: their {label} class"
        there = [_with(found, measure=measure, method=method) for method in methods]
        drawn = [_stacked([each.numbers("rows")[0] for each in own], len(low)) for own in there]
        panels.append(Panel(densities(f"margin{place}", caption, drawn, (low[0], high[-1]), "margin"), caption))
    told = "Densities over training rows after the last epoch: probability of the class less the mean of all."
    return Drawing(panels, told, legend(methods))


def residuals(_figure: Figure, found: Sequence[Series]) -> Drawing:
    """A panel for each method and measure, with a curve for right and one for wrong labels."""
    span, panels = decades([each.numbers("value")[0] for each in found]), list[Panel]()
    for method in unlike(found, "method"):
        for own in (_with(found, method=method, measure=name) for name in unlike(found, "measure")):
            if own:
                what, when = RESIDUALS[f"examined_{own[0].measure}"]
                caption = f"{method}: {what}, {when}"
                drawn = [np.stack([_histogram(each, span, wrong) for each in own]) for wrong in (False, True)]
                svg = densities(f"residual{len(panels)}", caption, drawn, span, what, decades=True)
                panels.append(Panel(svg, caption))
    told = "Densities over training rows after the last epoch."
    return Drawing(panels, told, legend(["right labels", "wrong labels"]), min(3, len(panels)))


def unlike(found: Iterable[Series], name: str) -> list[str]:
    """What a field is in some of them, in the order in which it comes."""
    return list(dict.fromkeys(getattr(each, name) for each in found))


def _with(found: Iterable[Series], **where: str) -> list[Series]:
    return [each for each in found if all(getattr(each, name) == value for name, value in where.items())]


def _trend(found: Sequence[Series], place: Callable[[Series], float]) -> Trend:
    # runs of one noise and method stand at one place, the mean of theirs
    cells = [
        _with(found, noise=noise, method=name) for noise in unlike(found, "noise") for name in unlike(found, "method")
    ]
    means = ((float(np.mean([place(each) for each in own])), own) for own in cells if own)
    there = sorted(means, key=lambda pair: pair[0])
    published = [(x, own[0].numbers("published")[0][0]) for x, own in there if "published" in own[0].columns]
    values = [np.concatenate([each.numbers("value")[0] for each in own]) for _, own in there]
    return Trend([x for x, _ in there], values, published)


def _rate(each: Series) -> float:
    return float(each.numbers("noise_rate")[0][0])


def _setting(each: Series) -> float:
    return float(each.method.rpartition(" ")[2].rpartition("=")[2])


def _family(each: Series) -> str:
    return each.method.rpartition(" ")[0]


def _stacked(runs: Sequence[Floats], otherwise: int) -> Floats:
    # (runs, numbers), as many as all runs have; without runs a line of so many that are none
    shortest = min(map(len, runs), default=otherwise)
    return np.stack([run[:shortest] for run in runs] or [np.full(shortest, np.nan)])


def _histogram(each: Series, span: tuple[float, float], wrong: bool) -> Floats:
    value, flag = each.numbers("value", "wrong")
    inside = value[(flag > 0) == wrong]
    return np.histogram(inside[np.isfinite(inside)].clip(*span), BINS, span)[0].astype(np.float64)
