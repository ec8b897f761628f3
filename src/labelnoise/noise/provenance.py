"""Corrupted data sets in files that say how they came about, and that are checked when they are read."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from labelnoise.data import saved
from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.metrics.matrix import shares
from labelnoise.noise.corrupt import corrupt, noise_for
from labelnoise.noise.kinds import Noise

Rows = list[list[float]]


class Provenance(NamedTuple):
    """How the given labels of a data set came about; rates are of the rows that are not kept for the test."""

    definition: str  # of the noise
    seed: int
    rate_before: float | None  # of wrong labels before noise was added; None where the truth was unknown
    nominal_rate: float  # of labels that the noise is expected to make wrong
    realised_rate: float | None  # of wrong labels in the end; None where the truth is unknown
    T: Rows | None  # what labels were drawn by, where noise depends on the class alone
    T_realised: Rows | None  # shares of given labels among the rows of each true class; 0 if it has none


def save_corrupted(
    dataset: Dataset, noise: Noise | str, path: Path | str, *, seed: int, force: bool = False
) -> Dataset:
    """Corrupt a data set, all but the rows that it keeps for the test, and write the outcome with its provenance.

    Two files come about, an .npz with the arrays x, y, y_true, ids, classes and test, and a .json of the same name;
    only with `force` do they replace others.
    """
    saved.check(Path(path), force=force)
    noise, rows = noise_for(dataset, noise), dataset.learnable
    corrupted = corrupt(dataset, noise, seed=seed, rows=rows)
    facts = Provenance(
        definition=noise.definition,
        seed=seed,
        rate_before=dataset.noise_rate,
        nominal_rate=noise.expected_rate(dataset, rows),
        realised_rate=corrupted.noise_rate,
        T=None if noise.T is None else noise.T.probs.tolist(),
        T_realised=_realised(corrupted, rows),
    )
    if noise.rate:
        said = f"noise {noise.definition} was added with seed {seed}"
        corrupted = replace(corrupted, notes=(*corrupted.notes, said))
    saved.save(corrupted, Path(path), facts._asdict(), force=force)
    return corrupted


def load_corrupted(path: Path | str) -> tuple[Dataset, Provenance]:
    """A corrupted data set and its provenance; where a file is not what was written, an error says so."""
    dataset, head = saved.load(Path(path))
    if missing := [name for name in Provenance._fields if name not in head]:
        raise InputError(f"{path} was saved without saying how its labels came about, no {missing[0]}")
    return dataset, Provenance(*(head[name] for name in Provenance._fields))


def _realised(dataset: Dataset, rows: Tensor) -> Rows | None:
    if dataset.y_true is None:
        return None
    classes, true = len(dataset.classes), dataset.y_true[rows]
    known = true >= 0
    pairs = true[known] * classes + dataset.y_given[rows][known]
    counts = torch.bincount(pairs, minlength=classes**2).reshape(classes, classes)
    T: Rows = shares(counts).nan_to_num(0.0).tolist()
    return T
