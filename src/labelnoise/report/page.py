"""The report as one page of HTML that needs nothing but itself: no script, no network, in light and dark."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from labelnoise.metrics import matrix_error
from labelnoise.report import figures
from labelnoise.report.figures import Curve, Floats
from labelnoise.report.summary import Row, Summary, described, searched, significant, summarise
from labelnoise.report.tables import MEANING, count, head, spread
from labelnoise.results.select import TEST, NoisyValidation
from labelnoise.results.store import Store

UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # a name may hold what HTML must not
MOST_COUNTED = 20  # classes up to which their rows are counted one by one
MOST_CALIBRATED = 8  # methods up to which all have a reliability diagram
CONFUSED = 10  # pairs of classes in the list of the most confused
TRAINING = {  # what is shown of the training part where the truth is known
    "train/clean_accuracy": "right labels: predicted as labelled",
    "train/wrong_accuracy_given": "wrong labels: memorised",
    "train/wrong_accuracy_true": "wrong labels: true class recovered",
}
FITTING = {  # and where it is not
    "train/accuracy_given": "training part, as labelled",
    "validation/accuracy_given": "validation part, as labelled",
}

Details = Mapping[str, Sequence[Mapping[str, Floats]]]  # label of a row -> what each of its runs measured at its end


class Panel(NamedTuple):
    """A drawing with the words under it."""

    svg: str
    caption: str


class Key(NamedTuple):
    """How a curve looks."""

    label: str
    colour: str
    dashes: str


def write_page(store: Store, path: Path) -> None:
    """Write the page; whoever opens it sees the old one or the new one, whole."""
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(page(store), encoding="utf-8")
    draft.replace(path)


def page(store: Store) -> str:
    """The whole page."""
    summary = summarise(store)
    facts = store.facts
    rows = [row for row in summary.rows if row.runs]
    details = {row.label: _details(row) for row in rows}
    names = facts["data"]["classes"]
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template("page.html").render(
        summary=summary,
        answer=re.sub(r"(?<=[\d±]) (?=[±%\d])", "\u00a0", _answer(summary, facts)),  # numbers stay in one line
        facts=_facts(summary, facts),
        classes=_class_counts(names, details),
        numbered=len(names) > figures.MOST_NAMES,
        notes=facts["data"]["notes"],
        table=_table(summary),
        head=head(summary),
        meaning=MEANING,
        legend=_legend([row.label for row in rows]),
        curves=_curves(rows, summary),
        training=_training(rows),
        matrices=_matrices(summary.best, rows, details, names),
        calibration=_calibration(summary, rows, details),
        confusion=_confusion(summary, details, names),
        searches=_searches(store),
        settings=[(row.label, _outline(row.settings)) for row in summary.rows],
        base=_outline(facts["base"]),
        about=_about(store),
        again=_again(store.folder),
    )
    readable = UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", html)
    return readable.encode("utf-8", "replace").decode()  # a name may hold half a character


def _details(row: Row) -> list[dict[str, Floats]]:
    return [
        {name: tensor.double().numpy() for name, tensor in run.details.items()}
        for run in row.finished
        if run.pack.details.exists()
    ]


def _pooled(details: Sequence[Mapping[str, Floats]], name: str) -> Floats | None:
    found = [each[name] for each in details if name in each]
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
        return " ".join(told)
    told.append(f"Noisy validation, which needs no clean label, would choose {best.label}: {reached}.")
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
        "Data": f"{data['name']}, {data['rows']:,} rows, inputs of shape {' × '.join(map(str, data['shape']))}",
        "Parts": f"{parts['train']:,} train · {parts['validation']:,} noisy validation · {parts['test']:,} test",
        "Classes": f"{len(data['classes']):,}",
        "Noise": summary.noise_rate + ("" if base["noise"] == "none" else f" ({base['noise']} was added)"),
        "Accuracy": f"measured against {summary.reference}",
        "Network": f"{base['net']['name']}, {base['train']['epochs']} epochs, batches of {base['train']['batch']}",
    }


def _class_counts(names: Sequence[str], details: Details) -> list[tuple[str, int]]:
    tested = next((each["test_confusion"] for runs in details.values() for each in runs), None)
    if tested is None or len(names) > MOST_COUNTED:
        return []
    return [(name, int(number)) for name, number in zip(names, tested.sum(1), strict=True)]


def _table(summary: Summary) -> list[dict[str, Any]]:
    return [
        {
            "label": row.label,
            "runs": count(row),
            "chosen": row.label == summary.winner and len(summary.rows) > 1,
            "figures": [(spread(values), row.not_worse[rule]) for rule, values in row.accuracies.items()],
        }
        for row in summary.rows
    ]


def _legend(labels: Sequence[str]) -> list[Key]:
    return [
        Key(label, figures.colour(index), " ".join(map(str, figures.dashes(index))))
        for index, label in enumerate(labels)
    ]


def _history(row: Row, measure: str) -> Floats:
    # (runs, epochs), cut to what all runs have
    values = [[record.measures.get(measure, np.nan) for record in run.records] for run in row.finished]
    shortest = min(map(len, values))
    return np.array([each[:shortest] for each in values], dtype=np.float64)


def _curve(row: Row, measure: str) -> Curve:
    picked = [NoisyValidation().pick(run.records) for run in row.finished]
    return Curve(_history(row, measure), [(each.epoch, each.measures.get(measure, np.nan)) for each in picked])


def _measured(rows: Sequence[Row]) -> set[str]:
    return {name for row in rows for run in row.finished for name in run.records[-1].measures}


def _curves(rows: Sequence[Row], summary: Summary) -> list[Panel]:
    captions = {
        TEST[0]: f"Test accuracy in %, against {summary.reference}",
        TEST[1]: "Test accuracy in %, against given labels",
        "validation/score": "Agreement with given labels on noisy validation, in %: it chooses the epochs",
    }
    shown = [name for name in captions if name in _measured(rows)]
    if set(TEST) <= set(shown) and all(np.array_equal(_history(r, TEST[0]), _history(r, TEST[1])) for r in rows):
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
    panels = []
    for place, row in enumerate(rows):
        drawn = [Curve(_history(row, measure)) for measure in meaning]
        title = f"{row.label}, share of rows by epoch: {'; '.join(meaning.values())}"
        panels.append(Panel(figures.curves(f"train{place}", title, drawn, small=True), row.label))
    return {"known": known, "panels": panels, "legend": _legend(list(meaning.values()))}


def _matrices(best: Row | None, rows: Sequence[Row], details: Details, names: Sequence[str]) -> list[Panel]:
    if best is None or len(names) > figures.MOST_DRAWN:
        return []
    realised = _shares(_pooled(details[best.label], "train_counts"))
    found = {
        "Realised: what the training labels are": realised,
        f"Estimated: predictions of {best.label} stand for true labels on noisy validation": _shares(
            _pooled(details[best.label], "validation_counts")
        ),
    }
    for row in rows:
        learnt = [each["T"] for each in details[row.label] if "T" in each]
        found[f"As {row.label} has it"] = np.mean(learnt, axis=0) if learnt else None
    panels = []
    for place, (caption, T) in enumerate((caption, T) for caption, T in found.items() if T is not None):
        axis = ("true class", "given class")
        svg = figures.matrix(f"matrix{place}", caption, T, names, axis=axis, cells=_percents(T))
        panels.append(Panel(svg, caption + _error(T, realised)))
    return panels


def _shares(counts: Floats | None) -> Floats | None:
    # Rows of a count as shares; a class that does not occur has none.
    if counts is None:
        return None
    total = counts.sum(1, keepdims=True)
    shares: Floats = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    return shares


def _percents(T: Floats) -> list[list[str]] | None:
    if len(T) > figures.MOST_NUMBERS:
        return None
    digits = 1 if len(T) <= 5 else 0
    return [["" if np.isnan(share) else f"{100 * share:.{digits}f}" for share in row] for row in T]


def _error(T: Floats, realised: Floats | None) -> str:
    if realised is None or T is realised or np.isnan(T).any() or np.isnan(realised).any():
        return ""
    return f"; off by {100 * float(matrix_error(T, realised).mean_absolute):.1f} points per entry on average"


def calibration_error(bins: Floats) -> float:
    """ECE of Guo et al. 2017 from rows, sum of confidence and number correct of each bin (bins, 3)."""
    rows, confidence, correct = bins.T
    return float(np.abs(correct - confidence).sum() / rows.sum())


def _calibration(summary: Summary, rows: Sequence[Row], details: Details) -> list[Panel]:
    chosen = [row for row in rows if len(rows) <= MOST_CALIBRATED or row is summary.best or row.method == "ce"]
    panels = []
    for place, row in enumerate(chosen):
        bins = _pooled(details[row.label], "test_bins")
        if bins is not None:
            caption = f"{row.label}: ECE {100 * calibration_error(bins):.1f} %"
            svg = figures.reliability(f"bins{place}", f"Accuracy by confidence of {caption}", bins)
            panels.append(Panel(svg, caption))
    return panels


def _confusion(summary: Summary, details: Details, names: Sequence[str]) -> dict[str, Any] | None:
    counts = _pooled(details[summary.best.label], "test_confusion") if summary.best else None
    if counts is None:
        return None
    shares, classes = _shares(counts), len(names)
    cells = [[f"{number:.0f}" for number in row] for row in counts] if classes <= figures.MOST_NUMBERS else None
    title = f"Test part: label of each row, and what {summary.winner} predicts"
    drawn = None
    if shares is not None and classes <= figures.MOST_DRAWN:
        svg = figures.matrix("confusion", title, shares, names, axis=("label", "predicted"), cells=cells)
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


def _searches(store: Store) -> list[tuple[str, list[dict[str, Any]]]]:
    runs = store.runs()
    differ = searched(store, runs)
    found = []
    for method, search in store.searches.items():
        trials = []
        for run in (runs[identity] for identity in search["trials"] if identity in runs):
            score = None if run.failed else NoisyValidation().pick(run.records).measures["validation/score"]
            settings = described(run.config["method"]["settings"], differ[method]) or "as they are"
            trials.append({"settings": settings, "score": score, "chosen": run.identity == search["chosen"]})
        trials.sort(key=lambda trial: -1.0 if trial["score"] is None else trial["score"], reverse=True)
        found.append((method, trials))
    return found


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


def _about(store: Store) -> dict[str, str]:
    packs = {run.pack.folder: run.pack.facts for run in store.runs().values()}.values()
    versions = {f"{name} {version}" for pack in packs for name, version in pack["versions"].items()}
    return {
        "Versions": ", ".join(sorted(versions)),
        "Device": ", ".join(sorted({f"{pack['device']} ({pack['executor']})" for pack in packs})),
        "Time": f"{sum(pack['seconds'] for pack in packs):,.0f} s of training",
        "Folder": str(store.folder),
    }


def _again(folder: Path) -> str:
    config = shlex.quote(str(folder / "config.yaml"))
    return (
        f"labelnoise train --config {config} --out NEW_FOLDER   # the same runs again\n"
        f"labelnoise report {shlex.quote(str(folder))}   # this page again"
    )
