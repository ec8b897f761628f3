"""The report as one page of HTML that needs nothing but itself: no script, no network, in light and dark."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from labelnoise.config import Named
from labelnoise.files import write
from labelnoise.metrics import binned_ece, matrix_error, shares
from labelnoise.report import figures
from labelnoise.report.canvas import Floats
from labelnoise.report.classes import by_class, class_counts
from labelnoise.report.figures import Curve, Plane
from labelnoise.report.measured import (
    history,
    lines,
    margins,
    measured_once,
    percents,
    projections,
    residuals,
    sensitivities,
    told,
)
from labelnoise.report.selection import instance_transitions, remade, selected, weights
from labelnoise.report.summary import BALANCED, Row, Summary, significant, summary_of, trials_of
from labelnoise.report.tables import MEANING, count, head, spread
from labelnoise.report.template import Panel, fill, legend
from labelnoise.report.uneven import never_predicted
from labelnoise.results.select import TEST, NoisyValidation
from labelnoise.results.store import Run, Store
from labelnoise.sweep.headline import network

MOST_CALIBRATED = 8  # methods up to which all have a reliability diagram
BINS, FINE_BINS = 15, 100  # of confidence, in a diagram and for a second error
CONFUSED = 10  # pairs of classes in the list of the most confused
PLANE = ("probs", "frame", "points", "given", "wrong")  # details of runs whose inputs are two numbers
TRAINING = {  # what is shown of the training part where the truth is known
    "train/clean_accuracy": "right labels: predicted as labelled",
    "train/wrong_accuracy_given": "wrong labels: memorised",
    "train/wrong_accuracy_true": "wrong labels: true class recovered",
}
FITTING = {  # and where it is not
    "train/accuracy_given": "training part, as labelled",
    "validation/accuracy_given": "validation part, as labelled",
}


def write_page(store: Store, path: Path) -> None:
    """Write the page; whoever opens it sees the old one or the new one, whole."""
    write(path, page(store))


def page(store: Store) -> str:
    """The whole page."""
    held = store.contents()
    summary, facts = summary_of(held), held.facts
    rows = [row for row in summary.rows if row.runs]
    names = facts["data"]["classes"]
    return fill(
        "page.html",
        summary.title,
        summary=summary,
        answer=re.sub(r"(?<=[\d±]) (?=[±%\d])", "\u00a0", _answer(summary, facts)),  # numbers stay in one line
        facts=_facts(summary, facts),
        classes=class_counts(names, rows),
        numbered=len(names) > figures.MOST_NAMES,
        notes=facts["data"]["notes"],
        table=_table(summary),
        head=head(summary),
        meaning={name: MEANING[name] for name in summary.columns},
        legend=legend([row.label for row in rows]),
        curves=_curves(rows, summary),
        training=_training(rows),
        selected=selected(rows),
        weights=weights(rows),
        margins=margins(rows, len(names)),
        residuals=residuals(rows),
        projections=projections(rows, names),
        regions=_regions(rows, names),
        lines=lines(rows if facts["base"]["data"]["source"] == "gaussians" else []),
        matrices=_matrices(summary.best, rows, names),
        remade=remade(rows),
        instance=instance_transitions(rows, names),
        told=told(rows) if facts["data"]["truth"] != "unknown" else [],
        calibration=_calibration(summary.best, rows),
        doubtful=facts["data"]["truth"] == "unknown",
        by_class=by_class(summary.best, rows, names),
        confusion=_confusion(summary.best, names),
        searches=(tried := trials_of(held)),
        sensitivities=sensitivities(tried),
        settings=[(row.label, _outline(row.settings)) for row in summary.rows],
        base=_outline(facts["base"]),
        about=_about(held.runs.values(), store.folder),
        again=_again(store.folder, facts["base"]["data"]["source"]),
    )


def _pooled(row: Row, name: str) -> Floats | None:
    found = measured_once(row, name)
    return np.sum(found, axis=0) if found else None


def _answer(summary: Summary, facts: Mapping[str, Any]) -> str:
    best, data = summary.best, facts["data"]
    if best is None:
        return f"No run on {data['name']} has finished without failing, so there is nothing to compare yet."
    wrong = summary.noise_rate if "unknown" not in summary.noise_rate else "the labels may be partly wrong"
    told = [f"Trained on {data['parts']['train']:,} rows of {data['name']}, where {wrong}."]
    plain = next((row for row in summary.rows if row.method == "ce" and row.runs), None)
    reached = f"{spread(best.accuracies['selected'])} % on the test part against {summary.reference}"
    if len(summary.rows) == 1:
        told.append(f"{best.label} reaches {reached}, its epoch chosen on noisy validation.")
    else:
        told.append(f"Noisy validation, which needs no clean label, would choose {best.label}: {reached}.")
    if BALANCED in best.accuracies:
        told.append(f"Balanced over classes, which differ much in size, that is {spread(best.accuracies[BALANCED])} %.")
    told += never_predicted(best.label, best.finished, data["classes"])
    if plain is not None and plain is not best:
        chosen, last = spread(plain.accuracies["selected"]), spread(plain.accuracies["last"])
        told.append(
            f"Plain cross-entropy ({plain.label}) reaches {chosen} % with its epoch chosen the same way, and {last} % "
            "after the last epoch."
        )
        told += _verdict(best, plain)
    return " ".join(told)


def _verdict(best: Row, plain: Row) -> list[str]:
    if min(best.runs, plain.runs) < 2:
        return ["With fewer than two runs of each, nothing can be said about chance."]
    first, second = best.accuracies["selected"], plain.accuracies["selected"]
    if not significant(first, second):
        return ["Between the two chosen epochs the difference is within what chance explains."]
    side = "better" if mean(first) > mean(second) else "worse"
    return [f"With chosen epochs, {best.label} is significantly {side}."]


def _facts(summary: Summary, facts: Mapping[str, Any]) -> dict[str, str]:
    data, base = facts["data"], facts["base"]
    parts = data["parts"]
    return {
        "Data": f"{data['name']}, {data['rows']:,} rows of {' × '.join(map(str, data['shape']))} inputs",
        "Parts": f"{parts['train']:,} train · {parts['validation']:,} noisy validation · {parts['test']:,} test",
        "Classes": f"{len(data['classes']):,}",
        "Noise": summary.noise_rate + ("" if base["noise"] == "none" else f" ({base['noise']} was added)"),
        "Accuracy": f"measured against {summary.reference}",
        "Network": f"{network(Named(**base['net']))}, {base['train']['epochs']} epochs, "
        f"batches of {base['train']['batch']}",
    }


def _table(summary: Summary) -> list[dict[str, Any]]:
    return [
        {
            "label": row.label,
            "runs": count(row),
            "chosen": row is summary.best and len(summary.rows) > 1,
            "figures": [(spread(values), row.not_worse[rule]) for rule, values in row.accuracies.items()],
        }
        for row in summary.rows
    ]


def _curve(row: Row, measure: str) -> Curve:
    picked = [NoisyValidation().pick(run.records) for run in row.finished]
    return Curve(history(row, measure), [(each.epoch, each.measures.get(measure, np.nan)) for each in picked])


def _measured(rows: Sequence[Row]) -> set[str]:
    return {name for row in rows for run in row.finished for name in run.records[-1].measures}


def _curves(rows: Sequence[Row], summary: Summary) -> list[Panel]:
    captions = {
        TEST[0]: f"Test accuracy in %, against {summary.reference}",
        TEST[1]: "Test accuracy in %, against given labels",
        "validation/score": "Agreement with given labels on noisy validation, in %: it chooses the epochs",
    }
    shown = [name for name in captions if name in _measured(rows)]
    if set(TEST) <= set(shown) and all(np.array_equal(history(r, TEST[0]), history(r, TEST[1])) for r in rows):
        shown.remove(TEST[1])  # the test part is clean
    panels = []
    for place, measure in enumerate(shown):
        drawn = [_curve(row, measure) for row in rows]
        described_by = f"{captions[measure]}, by epoch, for {', '.join(row.label for row in rows)}"
        panels.append(Panel(figures.curves(f"curve{place}", described_by, drawn), captions[measure]))
    return panels


def _training(rows: Sequence[Row]) -> dict[str, Any]:
    known = set(TRAINING) <= _measured(rows)
    meaning = TRAINING if known else FITTING
    held = {name.replace("train/", "validation/"): text for name, text in meaning.items()}
    return {
        "known": known,
        "panels": _by_epoch("train", rows, meaning),
        "held": _by_epoch("held", rows, held) if known and set(held) <= _measured(rows) else [],
        "legend": legend(list(meaning.values())),
    }


def _by_epoch(name: str, rows: Sequence[Row], meaning: Mapping[str, str]) -> list[Panel]:
    panels = []
    for place, row in enumerate(rows):
        drawn = [Curve(history(row, measure)) for measure in meaning]
        title = f"{row.label}, share of rows by epoch: {'; '.join(meaning.values())}"
        panels.append(Panel(figures.curves(f"{name}{place}", title, drawn, small=True), row.label))
    return panels


def _regions(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    # of the first seed: the mean of several boundaries would be that of none
    panels, wrong = [], False
    for place, row in enumerate(rows):
        run = row.finished[0]
        found = {name: run.details[f"plane_{name}"].numpy() for name in PLANE if f"plane_{name}" in run.details}
        if len(found) == len(PLANE):
            caption = f"{row.label}, seed {run.config['seed']}"
            title = f"Decision regions of {caption}, with training points by given label"
            panels.append(Panel(figures.regions(f"plane{place}", title, Plane(**found)), caption))
            wrong |= bool(found["wrong"].any())
    key = [(figures.sign(f"sign{index}", index), f"labelled {name}") for index, name in enumerate(names) if panels]
    if wrong:
        key.append((figures.sign("hollow", 0, hollow=True), "hollow, in any colour: labelled wrongly"))
    return {"panels": panels, "key": key}


def _matrices(best: Row | None, rows: Sequence[Row], names: Sequence[str]) -> list[Panel]:
    if best is None or len(names) > figures.MOST_DRAWN:
        return []
    realised = _shares(_pooled(best, "train_counts"))
    guess = f"Estimated: predictions of {best.label} on noisy validation stand for the truth, mistakes included"
    found = [
        ("Realised: what the training labels are", "true class", realised),
        (guess, "predicted class", _shares(_pooled(best, "validation_counts"))),
    ]
    for row in rows:
        for name, caption in (("T_before", f"As {row.label} first estimated it"), ("T", f"As {row.label} has it")):
            learnt = measured_once(row, name)
            found.append((caption, "true class", np.mean(learnt, axis=0) if learnt else None))
    panels = []
    for place, (caption, given_by, T) in enumerate(found):
        if T is not None:
            axis, cells = (given_by, "given class"), percents(T)
            svg = figures.matrix(f"matrix{place}", caption, T, names, axis=axis, cells=cells)
            panels.append(Panel(svg, caption + _error(T, realised)))
    return panels


def _shares(counts: Floats | None) -> Floats | None:
    return None if counts is None else shares(counts).numpy()


def _error(T: Floats, realised: Floats | None) -> str:
    if realised is None or T is realised or np.isnan(T).any() or np.isnan(realised).any():
        return ""
    return f"; off by {100 * float(matrix_error(T, realised).mean_absolute):.1f} points per entry on average"


def _calibration(best: Row | None, rows: Sequence[Row]) -> list[Panel]:
    chosen = [row for row in rows if len(rows) <= MOST_CALIBRATED or row is best or row.method == "ce"]
    panels = []
    for place, row in enumerate(chosen):
        found = measured_once(row, "test_bins")
        if found:
            bins = _merged(found, BINS)
            caption = f"{row.label}: ECE {100 * float(binned_ece(bins)):.1f} %"
            if all(len(each) % FINE_BINS == 0 for each in found):  # once there were fifteen
                caption += f", {100 * float(binned_ece(_merged(found, FINE_BINS))):.1f} % ({FINE_BINS} bins)"
            svg = figures.reliability(f"bins{place}", f"Accuracy by confidence of {caption}", bins)
            panels.append(Panel(svg, caption))
    return panels


def _merged(found: Sequence[Floats], into: int) -> Floats:
    merged: Floats = np.sum([each.reshape(into, -1, 3).sum(1) for each in found], axis=0)
    return merged


def _confusion(best: Row | None, names: Sequence[str]) -> dict[str, Any] | None:
    counts = _pooled(best, "test_confusion") if best else None
    if best is None or counts is None:
        return None
    classes = len(names)
    cells = [[f"{number:.0f}" for number in row] for row in counts] if classes <= figures.MOST_NUMBERS else None
    title = f"Test part: label of each row, and what {best.label} predicts"
    drawn = None
    if classes <= figures.MOST_DRAWN:
        share = shares(counts).numpy()
        svg = figures.matrix("confusion", title, share, names, axis=("label", "predicted"), cells=cells)
        drawn = Panel(svg, title)
    return {"panel": drawn, "pairs": _confused(counts, names) if cells is None else []}


def _confused(counts: Floats, names: Sequence[str]) -> list[str]:
    wrong = counts * (1 - np.eye(len(counts)))
    order = np.argsort(-wrong, axis=None, kind="stable")[:CONFUSED]
    return [
        f"{names[i]} taken for {names[j]}: {wrong[i, j]:.0f} of {counts[i].sum():.0f}"
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j] > 0
    ]


def _outline(settings: Mapping[str, Any], indent: int = 0) -> str:
    # indented as YAML is
    lines = []
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            lines.append(f"{' ' * indent}{name}:\n{_outline(value, indent + 2)}")
        else:
            shown = {None: "null", True: "true", False: "false", "": '""'}.get(value, value) if _plain(value) else value
            lines.append(f"{' ' * indent}{name}: {shown}")
    return "\n".join(lines) or " " * indent + "{}"


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | str)


def _about(runs: Iterable[Run], folder: Path) -> dict[str, str]:
    packs = {run.pack.folder: run.pack.facts for run in runs}.values()
    versions = {f"{name} {version}" for pack in packs for name, version in pack["versions"].items()}
    commits = {f"code {pack['commit'][:10]}" for pack in packs if pack.get("commit")}
    return {
        "Versions": ", ".join([*sorted(versions), *sorted(commits)]),
        "Device": ", ".join(sorted({f"{pack['device']} ({_executed(pack)})" for pack in packs})),
        "Time": f"{sum(pack['seconds'] for pack in packs):,.0f} s of training",
        "Folder": str(folder),
    }


def _executed(pack: Mapping[str, Any]) -> str:
    way = pack.get("execution", {})
    flags = [name for name in ("deterministic", "eager") if way.get(name)]
    return ", ".join([pack["executor"], *([f"precision {way['precision']}"] if way else []), *flags])


def _again(folder: Path, source: str) -> str:
    config, quoted = folder / "config.yaml", shlex.quote(str(folder))
    if source:
        train = f"labelnoise train --config {shlex.quote(str(config))} --out NEW_FOLDER   # the last comparison again"
    else:  # the data were given from Python
        train = f"compare_methods(DATA, settings=yaml.safe_load(open({str(config)!r})))   # in Python, the same data"
    return (
        f"{train}\n"
        f"labelnoise report {quoted}   # this page again\n"
        f"labelnoise predict {quoted} NEW_DATA   # by the chosen model"
    )
