"""What methods that select or weigh labels learn from, and what CausalNL knows of an input, as a report shows it.

Han et al., Co-teaching, NeurIPS 2018, follow the precision of what is selected; recall is here beside it. Yao et al.,
Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021: inputs made anew, and T(x).
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelnoise.methods import METHODS
from labelnoise.report import figures
from labelnoise.report.canvas import Floats, box, inline, sheet
from labelnoise.report.figures import Curve
from labelnoise.report.measured import ROWS, counted, examined, history, measured_once, percents
from labelnoise.report.paper_figures import densities
from labelnoise.report.summary import Row
from labelnoise.report.template import Panel, legend
from labelnoise.results.select import Last, NoisyValidation, Selection
from labelnoise.results.store import Run

KEPT = {  # measures of a network by epoch; the last ones, and the rate, where the truth is known
    "kept": "rows that are learnt from",
    "kept_precision": "of these, rightly labelled (precision)",
    "kept_recall": "of rightly labelled rows, learnt from (recall)",
}
RIGHT = "of all rows, rightly labelled"
LOOKS: tuple[tuple[float, ...], ...] = ((), (5, 2), (2, 3.5), (8, 2, 2, 2))  # dashes: lines may lie on each other
NETWORK = re.compile("train/kept_(?!precision_|recall_)(.+)")
SIDE, COLUMNS = 32, 8  # of a small picture, in pixels; pictures in a line
LINES = ["input", "made anew"]
HELD = 99.5  # per cent of the weights that lie within the axis
TINY = 1e-9  # no image is all of one value


def selected(rows: Sequence[Row]) -> dict[str, Any]:
    """What share of the labels is learnt from and how many of these are right, a panel for each method that selects."""
    panels, known = [], False
    for place, row in enumerate(rows):
        if drawn := _selected(row):
            known |= len(drawn) > 1
            title = f"{row.label}, rows that are learnt from, in % by epoch"
            caption = row.label + _weighed(row) + _without(drawn)
            curves = [Curve(each, dashes=dashes) for each, dashes in zip(drawn, LOOKS, strict=False)]
            panels.append(Panel(figures.curves(f"kept{place}", title, curves, small=True), caption))
    key = legend([*KEPT.values(), RIGHT] if known else [KEPT["kept"]], LOOKS)
    return {"panels": panels, "legend": key, "known": known}


def weights(rows: Sequence[Row]) -> dict[str, Any]:
    """Densities of the weights of right and of wrong labels, for methods that weigh them, and their key."""
    panels = []
    for place, row in enumerate(rows):
        runs = [run for run in examined(row, ["examined_weight"]) if np.isfinite(_weights(run)).all()]
        if runs:
            every = np.concatenate([_weights(run) for run in runs])
            span = (0.0, max(1.0, float(np.percentile(every, HELD))))
            apart = [np.stack([counted(run, "examined_weight", span, wrong=w) for run in runs]) for w in (False, True)]
            right, wrong = (np.mean(np.concatenate([_weights(run, w) for run in runs])) for w in (False, True))
            caption = f"{row.label}: {right:.2f} on average for right labels, {wrong:.2f} for wrong ones"
            panels.append(Panel(densities(f"weight{place}", f"Weights of {caption}", apart, span, "weight"), caption))
    return {"panels": panels, "legend": legend(ROWS)}


def remade(rows: Sequence[Row]) -> list[Panel]:
    """Test images beside what a method makes of them, for the first seed of each that makes inputs anew."""
    panels = []
    for place, row in enumerate(rows):
        details = row.finished[0].details
        if {"shown_x", "shown_reconstruction"} <= details.keys():
            x, made = (details[name].double().numpy() for name in ("shown_x", "shown_reconstruction"))
            if x.ndim == 4 and x.shape[1] in (1, 3) and np.isfinite(x).all() and np.isfinite(made).all():
                caption = f"{row.label}, seed {row.finished[0].config['seed']}, {_first_epoch(row)}"
                caption += ": test images, and the same made anew"
                panels.append(Panel(pictures(f"remade{place}", caption, x, made), caption))
    return panels


def instance_transitions(rows: Sequence[Row], names: Sequence[str]) -> list[Panel]:
    """T(x) as its mean over test rows and seeds, with how much it varies, for each method that learns it."""
    panels = []
    for place, row in enumerate(rows):
        found = measured_once(row, "shown_T")
        if found and len(names) <= figures.MOST_DRAWN:
            T = np.mean([each.mean(0) for each in found], axis=0)
            varies = 100 * float(np.mean([np.abs(each - each.mean(0)).mean() for each in found]))
            caption = (
                f"T(x) of {row.label}, {_epochs(row.finished, _generates(row))}: mean over {len(found[0])} test "
                f"inputs, from which the entries of a single one differ by {_points(varies)} on average"
            )
            axis, cells = ("true class", "given class"), percents(T)
            svg = figures.matrix(f"instance{place}", caption, T, names, axis=axis, cells=cells)
            panels.append(Panel(svg, caption))
    return panels


def pictures(name: str, title: str, x: Floats, made: Floats) -> str:
    """Images (n, channels, height, width), each above its counterpart, all in the range of the first."""
    low, high = x.min(), max(x.max(), x.min() + TINY)
    both = np.stack([_small((each - low) / (high - low)) for each in (x, made)], axis=1)  # (n, 2, height, width, 4)
    gap = max(1, both.shape[3] // 12)
    both = np.pad(both, [(0, -len(both) % COLUMNS), (0, 0), (0, gap), (0, gap), (0, 0)])  # see-through
    height, width = both.shape[2:4]
    lines = both.reshape(-1, COLUMNS, 2, height, width, 4).transpose(0, 2, 3, 1, 4, 5)
    drawn = lines.reshape(-1, COLUMNS * width, 4)
    size = (500, round(424 / drawn.shape[1] * drawn.shape[0]))
    with sheet(size) as figure:
        axes = figure.add_axes(box(size, left=76, bottom=0, right=0, top=0))
        axes.imshow(drawn, interpolation="none", aspect="auto")
        axes.set_xticks([])
        axes.set_yticks(np.arange(2 * len(lines)) * height + (height - gap - 1) / 2, LINES * len(lines))
        axes.tick_params(length=0, labelsize=11)
        axes.spines[:].set_visible(False)
        return inline(figure, name, title)


def _selected(row: Row) -> list[Floats]:
    # what is kept and, where the truth is known, the rest of KEPT and the share of right labels; (runs, epochs) each
    names = {name for run in row.finished for record in run.records for name in record.measures}
    networks = sorted(found[1] for name in names if (found := NETWORK.fullmatch(name)))
    known = any(f"train/kept_recall_{network}" in names for network in networks)
    shown = [kind for kind in KEPT if networks and (known or kind == "kept")]
    drawn = [_mean([history(row, f"train/{kind}_{network}") for network in networks]) for kind in shown]
    if known:
        rates = np.array([run.noise_rate for run in row.finished], dtype=np.float64)
        drawn.append(np.broadcast_to(1 - rates[:, None], drawn[0].shape))
    return drawn


def _weighed(row: Row) -> str:
    # where a row counts by a weight between 0 and 1
    found = measured_once(row, "examined_weight")
    weighs = any(((each > 0) & (each < 1)).any() for each in found)
    return ": it weighs rows and leaves none out, so these are mean weights and shares of weight" if weighs else ""


def _without(drawn: Sequence[Floats]) -> str:
    # what is said of epochs in which no seed learns from anything, and so none has a precision
    if len(drawn) == 1:
        return ""
    kept, precision = drawn[:2]
    none = int((np.isfinite(kept).any(0) & np.isnan(precision).all(0)).sum())
    return (
        f"; in {none} of {kept.shape[1]} epochs no seed learns from any row, so there is no precision" if none else ""
    )


def _generates(row: Row) -> Selection:
    # of which epoch networks are that make inputs and labels: the last where no prediction reads them
    return Last() if row.method in METHODS and METHODS.get(row.method).unjudged else NoisyValidation()


def _first_epoch(row: Row) -> str:
    made, predicted = (_epochs(row.finished[:1], rule) for rule in (_generates(row), NoisyValidation()))
    return made if made == predicted else f"{made} (class by the classifier of {predicted})"


def _epochs(runs: Sequence[Run], rule: Selection) -> str:
    epochs = sorted(rule.pick(run.records).epoch + 1 for run in runs)
    return f"epoch {epochs[0]}" if epochs[0] == epochs[-1] else f"epochs {epochs[0]} to {epochs[-1]} by seed"


def _mean(values: Sequence[Floats]) -> Floats:
    # over networks, without one that has learnt from nothing in an epoch and so has no precision
    mean: Floats = np.ma.masked_invalid(np.stack(values)).mean(0).filled(np.nan)
    return mean


def _weights(run: Run, wrong: bool | None = None) -> Floats:
    # of all rows, or of those that are labelled wrongly or not
    values: Floats = run.details["examined_weight"].double().numpy()
    return values if wrong is None else values[run.details["examined_wrong"].numpy() == wrong]


def _points(off: float) -> str:
    return f"{off:.1f} points" if off >= 0.1 else "less than 0.1 points"


def _small(images: Floats) -> Floats:
    # (n, height, width, 4) in colours with nothing see-through; large images have every so many pixels only
    step = -(-max(images.shape[2:]) // SIDE)
    colours = np.moveaxis(images[:, :, ::step, ::step], 1, -1).clip(0, 1)
    return np.concatenate([np.broadcast_to(colours, (*colours.shape[:-1], 3)), np.ones_like(colours[..., :1])], -1)
