"""The page of an audit: what was found, and the suspicious rows to be looked at, decided and exported."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from labelnoise.auditing.result import Audit
from labelnoise.data.rows import counted
from labelnoise.files import write
from labelnoise.report.figures import MOST_DRAWN, MOST_NUMBERS, matrix
from labelnoise.report.template import Panel, fill
from labelnoise.reviewing.command import command
from labelnoise.reviewing.kinds import kinds
from labelnoise.reviewing.review import LEAST, MOST, identity, labelled, suspicious
from labelnoise.reviewing.shown import shown
from labelnoise.reviewing.source import Source

HERE = Path(__file__).parent
BREAKING: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
UNKNOWN = "–"
NOT_KNOWN = "not known"  # of a share that may be any


def write_page(audit: Audit, source: Source, path: Path, most: int = MOST) -> None:
    """Write the page as one file that needs no other."""
    write(path, page(audit, source, most))


def page(audit: Audit, source: Source, most: int = MOST) -> str:
    """The whole page; its script is named in its policy by a hash, so that no other can run."""
    script = (HERE / "audit.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = suspicious(audit, most)
    return fill(
        "audit.html",
        f"Audit of {source.dataset.name}",
        folder=HERE,
        answer=answer(audit),
        facts=_facts(audit, source, rows),
        notes=audit.notes,
        transition=_transition(audit) if audit.rate_known else None,
        per_class=table(_per_class(audit.per_class), "class") if audit.rate_known else None,
        precision=table(_precision(audit.precision), "first rows"),
        not_known=NOT_KNOWN,
        planted=_planted(audit.planted),
        command=command(source, "corrections.csv"),
        script=script,
        digest=digest,
        data=embedded(_data(audit, source, rows)),
    )


def answer(audit: Audit) -> str:
    """A sentence on how many labels are wrong, and how sure that is."""
    low, high = (f"{100 * each:.1f}" for each in audit.noise_rate_interval)
    rows = len(labelled(audit))
    if not audit.rate_known:
        return (
            f"What share of the {rows:,} labels is wrong is not known (between {low} and {high} %), "
            "so that the audit alone drops and changes none."
        )
    return (
        f"About {100 * audit.noise_rate:.1f} % of the labels are wrong (between {low} and {high} %), "
        f"that is about {audit.noise_rate * rows:,.0f} of {rows:,} rows."
    )


def embedded(data: Any) -> str:
    """JSON that nothing in it can end: neither the element that holds it nor a line of script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(str.maketrans(BREAKING))


def table(texts: Mapping[str, list[str]], corner: str) -> dict[str, Any]:
    """Columns of texts, of which the first names the rows and stands under `corner`."""
    _, *names = texts
    return {"head": [corner, *names], "rows": [list(row) for row in zip(*texts.values(), strict=True)]}


def percent(share: float) -> str:
    """A share in %, if it is known."""
    return UNKNOWN if math.isnan(share) else f"{100 * share:.1f} %"


def _facts(audit: Audit, source: Source, rows: Any) -> dict[str, str]:
    worth = f"{(rows['wrong_probability'] >= LEAST).sum():,} wrong with a probability of {100 * LEAST:.0f} % or more"
    classes = len(source.dataset.classes)
    return {
        "Data": f"{source.path or source.dataset.name}: {len(audit.issues):,} rows, {classes:,} classes",
        "Shown here": f"the {len(rows):,} most suspicious rows, {worth}; issues.csv has all",
        "Audit": identity(audit, source.dataset),
    }


def _data(audit: Audit, source: Source, rows: Any) -> dict[str, Any]:
    dataset = source.dataset
    place = {name: row for row, name in enumerate(dataset.ids)}
    ids, reasons = list(map(str, rows.index)), list(map(str, rows["reason"]))
    columns = {
        "id": ids,
        "given": list(map(str, rows["given"])),
        "suggested": list(map(str, rows["suggested"])),
        "wrong": [round(wrong, 6) for wrong in rows["wrong_probability"].tolist()],
        "reason": reasons,
        "kinds": kinds(reasons, dataset.classes),
    }
    told = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    seen = shown(source, [place[name] for name in ids])
    return {
        "audit": identity(audit, dataset),
        "classes": list(dataset.classes),
        "rows": [{**each, **see} for each, see in zip(told, seen, strict=True)],
    }


def _transition(audit: Audit) -> Panel | None:
    shares = audit.transition.to_numpy(np.float64)
    names = [str(name) for name in audit.transition.index]
    if len(names) > MOST_DRAWN:
        return None
    cells = [[f"{100 * share:.0f}" for share in row] for row in shares] if len(names) <= MOST_NUMBERS else None
    caption = "T, in %: how the rows of each true class are labelled"
    return Panel(matrix("transition", caption, shares, names, axis=("true", "given"), cells=cells), caption)


def _precision(found: Any) -> dict[str, list[str]]:
    ends = zip(found["planted_low"], found["planted_high"], strict=True)
    return {
        "k": [f"{k:,}" for k in found.index],
        **{name: [percent(share) for share in found[name]] for name in ("expected", "recovered", "planted")},
        "between": [_between(low, high) for low, high in ends],
    }


def _between(low: float, high: float) -> str:
    if math.isnan(low):
        return UNKNOWN
    told = f"{100 * low:.0f} to {100 * high:.0f} %"
    return NOT_KNOWN if told == "0 to 100 %" else told


def _per_class(found: Any) -> dict[str, list[str]]:
    guesses = ["wrong", "rate", "meant_share", "missing"]
    found = found.assign(meant=found["meant"].where(found["learnt"], ""), **found[guesses].where(found["learnt"]))
    meant = zip(found["meant"], found["meant_share"], strict=True)
    return {
        "class": [str(name) for name in found.index],
        "labels": [f"{rows:,}" for rows in found["rows"]],
        "of them wrong": [_about(rows) for rows in found["wrong"]],
        "share wrong": [percent(share) for share in found["rate"]],
        "most often meant": [f"{name} ({100 * share:.0f} %)" if name else UNKNOWN for name, share in meant],
        "labelled otherwise": [_about(rows) for rows in found["missing"]],
    }


def _planted(found: Mapping[str, float]) -> list[str]:
    if not found["flips"]:
        return []
    rows = counted(round(found["flips"]), "row")
    shares = {name: f"{100 * share:.0f} %" for name, share in found.items()}
    return [
        f"In a copy of the data {rows} got a wrong label, as some of yours seem to have.",
        f"{shares['found']} of them look as suspicious as the rows of yours that are expected to be wrong.",
        f"For {shares['named']} the class they had before comes out as the likeliest other one.",
        f"On average they are held to be wrong with a probability of {shares['mean_probability']}.",
    ]


def _about(rows: float) -> str:
    if math.isnan(rows):
        return UNKNOWN
    return f"about {rows:,.0f}" if rows >= 1 else "under 1"
