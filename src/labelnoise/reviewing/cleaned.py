"""Cleaned data, written in the form in which the data came."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from labelnoise.data import saved
from labelnoise.data.dataset import Dataset
from labelnoise.data.table import LABEL_WEIGHT, SUFFIXES
from labelnoise.errors import InputError
from labelnoise.reviewing import clean_arrays, clean_folder, clean_table
from labelnoise.reviewing.outcome import WEIGHT, Outcome
from labelnoise.reviewing.source import Source
from labelnoise.reviewing.spreadsheet import write_data


def default_name(source: Source, mode: str) -> str:
    """What the cleaned file or folder is called unless it is told."""
    if source.kind in ("folder", "saved") and mode == WEIGHT:
        return "cleaned.csv"
    endings = {"folder": "", "saved": ".npz", ".npy": ".npz"}
    return f"cleaned{endings.get(source.kind, source.kind)}"


def check_place(source: Source, out: Path, *, force: bool) -> None:
    """Raise where a file would destroy something or change the data."""
    if source.path is not None and os.path.realpath(out) == os.path.realpath(source.path):
        raise InputError(f"{out} is the data themselves, which stay as they are; choose another --out")
    if source.path is not None and source.kind == "folder":
        clean_folder.check_apart(source.path, out)
    if out.exists() and not force:
        raise InputError(f"{out} exists; choose another --out, or --force to replace it")


def check_no_decisions(applied: Sequence[Path], out: Path) -> None:
    """Raise where cleaned data would replace decisions that they are made of."""
    if os.path.realpath(out) in map(os.path.realpath, applied):
        raise InputError(f"{out} holds the decisions to apply, which stay as they are; choose another --out")


def check_cleaned(source: Source, out: Path, *, force: bool) -> None:
    """Raise where cleaned data cannot be written, as their form asks for another name or other data are there."""
    forms = {form(Path(default_name(source, mode))) for mode in (WEIGHT, "")}
    if form(out) not in forms:
        told = " or ".join(f"in {each}" if each else "as a folder" for each in sorted(forms))
        raise InputError(f"{out} cannot hold these data, which are written {told}; choose another --out")
    check_place(source, out, force=force)
    if not form(out):
        clean_folder.check_own(out)
    if source.kind == "saved" and form(out) == ".npz":
        saved.check(out, force=force, leave="--force")


def check_form(source: Source, mode: str) -> None:
    """Raise where data cannot become what a mode asks for, whatever the decisions are."""
    path, kind = source.path, source.kind
    if mode != WEIGHT:
        if kind == "saved" and not isinstance(source.dataset.x, torch.Tensor):
            raise InputError(f"the images of {source.dataset.name} stay on disk, unsaved; choose --mode {WEIGHT}")
    elif path is not None and kind == ".npz":
        clean_arrays.check_free(path)
    elif path is not None and kind in SUFFIXES:
        clean_table.check_free(path, source)


def form(path: Path) -> str:
    """The form that a name asks for, by its end in small letters; empty for that of a folder."""
    return path.suffix.lower() if path.suffix.lower() in (*SUFFIXES, ".npz", ".npy") else ""


def write_cleaned(
    source: Source, done: Outcome, out: Path, *, home: Path | None = None, force: bool = False
) -> Outcome:
    """Write what the rows of data become, and tell it, as images may be left out; `home` is where it goes later."""
    check_cleaned(source, out, force=force)
    check_form(source, "" if done.weights is None else WEIGHT)
    path, kind = source.path, source.kind
    if path is not None and kind == "folder":
        done = clean_folder.within(path, source.dataset, done)
    if kind == "saved" and form(out) == ".npz" and done.weights is None:
        saved.save(_changed(source.dataset, done), out, {"cleaned": source.dataset.fingerprint}, force=force)
    elif kind == "saved" or path is None:
        _write_labels(source.dataset, done, out)
    elif kind == "folder" and done.weights is not None and not form(out):
        raise InputError(f"a folder of images has no place for weights; choose a name that ends in .csv, not {out}")
    elif kind == "folder" and form(out):
        clean_folder.write_listing(path, source.dataset, done, out, home or out.parent)
    elif kind == "folder":
        clean_folder.write_folder(path, source.dataset, done, out)
    elif kind == ".npz":
        clean_arrays.write_npz(path, source, done, out)
    elif kind == ".npy":
        clean_arrays.write_with_labels(path, source, done, out)
    elif kind == ".parquet":
        clean_table.write_parquet(path, source, done, out, home or out.parent)
    else:
        clean_table.write_delimited(path, source, done, out, home or out.parent)
    return done


def _write_labels(dataset: Dataset, done: Outcome, out: Path) -> None:
    if form(out) != ".csv":
        raise InputError(f"weights of {dataset.name} are written as a table; choose a name that ends in .csv")
    weights = np.ones(len(dataset)) if done.weights is None else done.weights
    rows = done.kept.nonzero()[0].tolist()
    cells = ([dataset.ids[row], dataset.classes[done.labels[row]], float(f"{weights[row]:.6g}")] for row in rows)
    write_data(out, ["id", "label", LABEL_WEIGHT], cells)


def _changed(dataset: Dataset, done: Outcome) -> Dataset:
    kept = torch.from_numpy(done.kept).nonzero().squeeze(1)
    numbers = kept.tolist()
    test = dataset.test
    if test is not None:
        test = torch.from_numpy(np.flatnonzero(np.isin(kept.numpy(), test.numpy())))
    return replace(
        dataset,
        x=dataset.x[kept] if isinstance(dataset.x, torch.Tensor) else dataset.x,
        y_given=torch.from_numpy(done.labels)[kept],
        y_true=None if dataset.y_true is None else dataset.y_true[kept],
        ids=tuple(dataset.ids[number] for number in numbers),
        test=test,
    )
