"""Corrupted data sets in files that say how they came about, and that are checked when they are read."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.data import saved
from labelnoise.data.dataset import Dataset
from labelnoise.data.split import learnable
from labelnoise.errors import InputError
from labelnoise.metrics.matrix import shares
from labelnoise.noise.apply import Noise, corrupt


class Provenance(NamedTuple):
    """How the given labels of a data set came about."""

    definition: str  # of the noise
    seed: int
    nominal_rate: float  # of wrong labels that the noise aims at, in the rows it may change
    realised_rate: float  # of wrong labels in these rows
    T_realised: list[list[float]]  # shares of given labels among the rows of each true class; 0 if it has none


def save_corrupted(dataset: Dataset, noise: Noise, path: Path | str, *, seed: int) -> Dataset:
    """Corrupt a data set, all but the rows that it keeps for the test, and write the outcome with its provenance.

    Two files come about, an .npz with the arrays x, y, y_true, ids, classes and test, and a .json of the same name.
    """
    rows = learnable(dataset)
    corrupted = corrupt(dataset, noise, seed=seed, rows=rows)
    facts = _provenance(corrupted, noise, seed, noise.expected_rate(dataset, rows), rows)
    saved.save(corrupted, Path(path), facts._asdict())
    return corrupted


def load_corrupted(path: Path | str) -> tuple[Dataset, Provenance]:
    """A corrupted data set and its provenance; where a file is not what was written, an error says so."""
    dataset, head = saved.load(Path(path))
    try:
        found = Provenance(*(head[name] for name in Provenance._fields))
    except KeyError as missing:
        raise InputError(
            f"{Path(path).with_suffix('.json')} does not say how labels came about, no {missing}"
        ) from None
    if dataset.y_true is None or abs(_rate(dataset, learnable(dataset)) - found.realised_rate) > 1e-12:
        raise InputError(f"the labels in {path} have another noise rate than beside it; restore both files")
    return dataset, found


def _provenance(dataset: Dataset, noise: Noise, seed: int, nominal: float, rows: Tensor) -> Provenance:
    classes = len(dataset.classes)
    true = dataset.y_given[rows] if dataset.y_true is None else dataset.y_true[rows]
    known = true >= 0
    pairs = true[known] * classes + dataset.y_given[rows][known]
    T = shares(torch.bincount(pairs, minlength=classes**2).reshape(classes, classes)).nan_to_num(0.0)
    return Provenance(noise.definition, seed, nominal, _rate(dataset, rows), T.tolist())


def _rate(dataset: Dataset, rows: Tensor) -> float:
    if dataset.y_true is None:
        return 0.0
    return (dataset.y_given[rows] != dataset.y_true[rows]).double().mean().item()
