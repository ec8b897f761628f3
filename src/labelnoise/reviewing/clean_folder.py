"""A cleaned folder of images: a folder per class as before, made of hard links where that is possible, else of copies.

A link takes no room; as both names stand for one file, an image that is painted over changes in both.
"""

import json
import os
import shutil
from pathlib import Path

from labelnoise.data.dataset import Dataset
from labelnoise.data.table import LABEL_WEIGHT
from labelnoise.errors import InputError
from labelnoise.files import explained, write
from labelnoise.reviewing.drafted import apart, put
from labelnoise.reviewing.outcome import Outcome
from labelnoise.reviewing.source import inside, is_inside
from labelnoise.reviewing.spreadsheet import write_data

SEAL = ".labelnoise.json"  # in a folder that was written here: its files, which may be replaced, and when they changed
LITTER = {SEAL, ".DS_Store", "Thumbs.db", "desktop.ini"}  # the others are left by systems where a folder is looked at
SHOWN = 3  # files that a sentence names


def write_folder(root: Path, dataset: Dataset, done: Outcome, out: Path) -> None:
    """Write the images that stay, each in the folder of its class; the folder appears whole or not at all."""
    check_apart(root, out)
    check_own(out)
    with explained(out), apart(out.parent) as (draft, old):
        changed = dict[str, int]()
        for name, target in targets(dataset, done).items():
            place = draft / target
            place.parent.mkdir(parents=True, exist_ok=True)
            _bring(inside(root, name), place)
            changed[target] = place.stat().st_mtime_ns
        write(draft / SEAL, json.dumps({"cleaned": dataset.fingerprint, "files": changed}))
        put(draft, out, old / out.name)


def write_listing(root: Path, dataset: Dataset, done: Outcome, out: Path, home: Path) -> None:
    """Write a table of the images that stay: path, label and, where asked for, weight.

    Paths start at `home`, where the table is to be read, if images lie below it, so that both can be moved together.
    """
    home, cells = Path(os.path.realpath(home)), list[list[str | float]]()
    for row in done.kept.nonzero()[0].tolist():
        file = inside(root, dataset.ids[row])
        path = file.relative_to(home) if file.is_relative_to(home) else file
        cells.append([str(path), dataset.classes[done.labels[row]]])
        if done.weights is not None:
            cells[-1].append(float(f"{done.weights[row]:.6g}"))
    write_data(out, ["path", "label", LABEL_WEIGHT][: 2 + (done.weights is not None)], cells)


def targets(dataset: Dataset, done: Outcome) -> dict[str, str]:
    """Where each image that stays goes, by its id; one that meets a namesake has its old class before its name."""
    found: dict[str, str] = {}
    moved = []
    for row in done.kept.nonzero()[0].tolist():
        name = dataset.ids[row]
        if done.labels[row] == dataset.y_given[row]:
            found[name] = name
        else:
            moved.append((name, dataset.classes[done.labels[row]]))
    taken = set(found)
    for name, label in moved:
        old, _, rest = name.partition("/")
        folder, _, file = rest.rpartition("/")
        place = "/".join(filter(None, [label, folder]))
        choices = [file, f"{old}-{file}", *(f"{old}-{number}-{file}" for number in range(2, len(dataset)))]
        target = next(each for choice in choices if (each := f"{place}/{choice}") not in taken)
        found[name] = target
        taken.add(target)
    return found


def within(root: Path, dataset: Dataset, done: Outcome) -> Outcome:
    """The same without images that links lead to from outside the folder: none is brought along unasked."""
    kept = done.kept.copy()
    kept[leading_out(root, dataset)] = False
    return done._replace(kept=kept)


def leading_out(root: Path, dataset: Dataset) -> list[int]:
    """Rows whose images lie outside the folder, for links lead there."""
    return [row for row, name in enumerate(dataset.ids) if not is_inside(root, name)]


def check_apart(root: Path, out: Path) -> None:
    """Raise where what is written would become a part of the data, or hold them."""
    here, there = (Path(os.path.realpath(each)) for each in (root, out))
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise InputError(f"{out} and the data in {root} lie in one another; choose another --out")


def check_own(out: Path) -> None:
    """Raise where a folder is there that was not written here, or that holds what people have added since."""
    if out.exists() and not (out / SEAL).is_file():
        raise InputError(f"{out} exists and was not written here, so that it is not replaced; choose another --out")
    if added := _added(out):
        told = ", ".join(map(repr, added[:SHOWN])) + (f" and {len(added) - SHOWN:,} more" if added[SHOWN:] else "")
        raise InputError(
            f"{out} holds what was added or changed since it was written, {told}, which would be lost; "
            "move that elsewhere, or choose another --out"
        )


def _added(out: Path) -> list[str]:
    # files of people; one that has a second name is not lost with the first
    written = _written(out)
    files = (path for path in sorted(out.rglob("*")) if path.is_symlink() or not path.is_dir())
    names = {path.relative_to(out).as_posix(): path.lstat() for path in files if path.name not in LITTER}
    return [
        name
        for name, facts in names.items()
        if name not in written or (facts.st_nlink == 1 and facts.st_mtime_ns != written[name])
    ]


def _written(out: Path) -> dict[str, int]:
    try:
        return dict(json.loads((out / SEAL).read_text("utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):  # no seal, or one that is damaged
        return {}


def _bring(file: Path, place: Path) -> None:
    try:
        os.link(file, place)
    except OSError:  # another disk, or a system without links
        shutil.copy2(file, place)
