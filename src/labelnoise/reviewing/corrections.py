"""What people have decided about single labels, read from the files that an audit or its page wrote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labelnoise.auditing.result import LIKELY, Audit
from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.registry import nearest
from labelnoise.reviewing.spreadsheet import read_table

NEEDED, LINES = ("id", "given", "audit"), "lines"  # columns; the last one, of exports, says how many lines there are
FILLED = ("corrected", "decision")  # columns that people fill in
WHOLE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}")  # the name of an audit, which begins with the fingerprint of the data
ACCEPT, REJECT, OTHER = "accept", "reject", "other"  # the suggestion; the given label is right; another class


class Decisions(NamedTuple):
    """Rows of a data set by number, and what is known of their labels."""

    corrected: dict[int, int]  # row -> class; that of the given label where it is right
    wrong: dict[int, float]  # row -> probability of being wrong


def by_audit(audit: Audit, dataset: Dataset) -> Decisions:
    """What an audit would decide alone: labels more likely wrong than right become its suggestions.

    No class ends: where all its labels seem wrong, they count as right until somebody has looked at them. Nothing is
    decided where the share of wrong labels is not known.
    """
    classes = {name: number for number, name in enumerate(dataset.classes)}
    wrong = audit.issues["wrong_probability"].loc[list(dataset.ids)].tolist()  # of the rows that have a label
    suggested = audit.issues["suggested"].loc[list(dataset.ids)].tolist()
    spared, given = {classes[name] for name in condemned(audit, dataset)}, dataset.y_given.tolist()
    corrected = {
        row: given[row] if given[row] in spared else classes[str(suggested[row])]
        for row, p in enumerate(wrong)
        if p > LIKELY and audit.rate_known
    }
    return Decisions(corrected, dict(enumerate(wrong)))


def condemned(audit: Audit, dataset: Dataset) -> list[str]:
    """Classes of which every row is more likely wrong than right: an audit alone does not decide about these."""
    likely = audit.issues["wrong_probability"].loc[list(dataset.ids)].to_numpy() > LIKELY
    given, K = dataset.y_given.numpy(), len(dataset.classes)
    rows, wrong = np.bincount(given, minlength=K), np.bincount(given[likely], minlength=K)
    return [dataset.classes[label] for label in np.flatnonzero((rows > 0) & (wrong == rows))]


def read_decisions(paths: Sequence[Path], dataset: Dataset) -> Decisions:
    """The decisions in several files about the same data, which may tell more of a row but not contradict."""
    found = Decisions({}, {})
    rows = {name: row for row, name in enumerate(dataset.ids)}
    classes = {name: number for number, name in enumerate(dataset.classes)}
    given = dataset.y_given.tolist()
    for place, cells in chain.from_iterable(_checked(path, dataset) for path in paths):
        own, name = _class(cells["given"], classes, place), cells["id"]
        if (row := _place(name, rows)) is None:
            raise InputError(f"{place}: there is no row with id {name!r}; {_advice(name, 'mend the line')}")
        if own != given[row]:
            held = dataset.classes[given[row]]
            raise InputError(f"{place}: row {name!r} has label {held!r}, not {cells['given']!r}; mend the line")
        label = _decided(cells, own, classes, place)
        if label is not None and found.corrected.setdefault(row, label) != label:
            raise InputError(f"{place}: row {name!r} is decided twice, differently; leave one of them out")
        if text := cells.get("wrong_probability", "").strip():
            found.wrong[row] = _probability(text, place)
    return found


def check_undecided(path: Path) -> None:
    """Raise where a file holds decisions, which would be lost if it were written anew."""
    rows = (cells for _, cells in read_table(path)) if path.is_file() else ()
    if any(cells.get(name, "").strip() for cells in rows for name in FILLED):
        raise InputError(f"{path} holds decisions, which would be lost; move it elsewhere, or choose another --out")


def _checked(path: Path, dataset: Dataset) -> Iterator[tuple[str, Mapping[str, str]]]:
    # lines about rows that have a label; an audit tells of the others too
    read, written = 0, 0
    for line, cells in read_table(path):
        if lacking := next((name for name in NEEDED if name not in cells), ""):
            raise InputError(f"{path} has no column {lacking!r}; apply a file that an audit or its page has written")
        place = f"{path}, line {line}"
        _check_audit(cells["audit"].strip(), dataset, place)
        read, written = read + 1, max(written, _count(cells.get(LINES, "")))
        if cells["given"].strip():
            yield place, cells
        elif cells.get("decision", "").strip() or cells.get("corrected", "").strip():
            raise InputError(f"{place}: row {cells['id']!r} has no label to correct; write it into the data themselves")
    if not read:
        raise InputError(f"{path} is empty or cut off; apply a file that an audit or its page has written")
    if read < written:
        raise InputError(
            f"{path} is cut off: it has {read:,} of the {written:,} lines that were exported; export it again, or if "
            f"you took lines out, empty its column {LINES!r}"
        )


def _check_audit(name: str, dataset: Dataset, place: str) -> None:
    own = f"{dataset.fingerprint}-"
    if not WHOLE.fullmatch(name) and own.startswith(name[: len(own)]):
        raise InputError(f"{place}: the column 'audit' is empty or cut off; export the file again, or mend the line")
    if not name.startswith(own):
        raise InputError(
            f"{place}: decided about other data (fingerprint {name.partition('-')[0]}, here {dataset.fingerprint}); "
            "give the data of that audit, unchanged and with the same options"
        )


def _decided(cells: Mapping[str, str], given: int, classes: Mapping[str, int], place: str) -> int | None:
    # the right class, or None where nobody has decided
    decision = cells.get("decision", "").strip().lower()
    if decision not in ("", ACCEPT, REJECT, OTHER):
        raise InputError(
            f"{place}: {decision!r} is no decision; write {ACCEPT}, {REJECT} or {OTHER}, or leave it empty"
        )
    text = cells.get("corrected", "")
    if not text.strip():
        if decision == OTHER:
            raise InputError(f"{place}: the decision is {OTHER}, but no class is corrected; name it")
        text = {"": "", REJECT: cells["given"], ACCEPT: cells.get("suggested", "")}[decision]
    if not decision and not text:
        return None
    label = _class(text, classes, place)
    if decision and (label == given) != (decision == REJECT):
        raise InputError(f"{place}: the decision is {decision}, but corrected is {text!r}; mend one of them")
    return label


def _count(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0


def _class(text: str, classes: Mapping[str, int], place: str) -> int:
    if (label := _place(text, classes)) is None:
        raise InputError(f"{place}: there is no class {text!r}; {_advice(text, nearest(text, classes))}")
    return label


def _advice(text: str, otherwise: str) -> str:
    broken = any("\ud800" <= letter <= "\udfff" for letter in text)  # what stands for bytes that are no text
    return "the file is not UTF-8: save it as CSV UTF-8" if broken else otherwise


def _place(text: str, known: Mapping[str, int]) -> int | None:
    # a spreadsheet may add spaces
    return known.get(text, known.get(text.strip()))


def _probability(text: str, place: str) -> float:
    try:
        value = float(text.replace(",", "."))  # as some spreadsheets write it
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{place}: wrong_probability {text!r} is none between 0 and 1; mend the line")
    return value
