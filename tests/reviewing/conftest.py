"""Audits with made-up numbers, so that pages and files can be tested without training, and a browser for pages."""

import numpy as np
import pandas as pd
import pytest

from labelnoise.auditing.per_class import class_table
from labelnoise.auditing.result import Audit
from labelnoise.config import Data
from labelnoise.reviewing.source import Source


def made_audit(
    dataset, *, wrong=(), seed=0, reasons=("other rows like it are labelled otherwise", "the model is sure")
):
    """An audit that suspects the rows named in `wrong`, the first of them most, and little of the others."""
    rng = np.random.default_rng(seed)
    rows, K = len(dataset), len(dataset.classes)
    place = {name: row for row, name in enumerate(dataset.ids)}
    given = dataset.y_given.numpy()
    probability = rng.uniform(0, 0.05, rows)
    probability[[place[name] for name in wrong]] = np.linspace(0.99, 0.6, len(wrong))
    issues = pd.DataFrame(
        {
            "given": [dataset.classes[label] for label in given],
            "suggested": [
                dataset.classes[(label + (p > 0.5)) % K] for label, p in zip(given, probability, strict=True)
            ],
            "wrong_probability": probability,
            "reason": [reasons[row % len(reasons)] for row in range(rows)],
            "alternative": [dataset.classes[(label + 1) % K] for label in given],
            "self_confidence": 1 - probability,
            "margin": 1 - 2 * probability,
        },
        index=pd.Index(dataset.ids, name="id"),
    )
    names = list(dataset.classes)
    T = pd.DataFrame(np.full((K, K), 0.1 / (K - 1)) + np.eye(K) * (0.9 - 0.1 / (K - 1)), names, names)
    counts, expected = np.bincount(given, minlength=K), np.bincount(given, probability, minlength=K)
    return Audit(
        issues,
        0.1,
        (0.08, 0.12),
        T,
        (T * 0.9, T * 1.1),
        class_table(dataset.classes, counts, np.roll(np.diag(expected), -1, 0), counts >= 0),
        pd.DataFrame(
            [[0.95, 0.2, 0.9, 0.6, 1.0], [0.9, 0.8, 0.85, 0.7, 0.95]],
            pd.Index([10, 50], name="k"),
            ["expected", "recovered", "planted", "planted_low", "planted_high"],
        ),
        {"flips": 20.0, "found": 0.9, "named": 0.75, "mean_probability": 0.8},
        ("folds are made of 5 parts",),
    )


@pytest.fixture
def audit_of():
    return made_audit


@pytest.fixture
def source_of():
    return read_source


@pytest.fixture
def people(tmp_path):
    """A table of forty rows, with signs and spaces that a careless writer would lose."""
    rows = [f'{n},"a, {n}",{n * 0.5:.2f},{"tall" if n % 2 else "short"}' for n in range(40)]
    path = tmp_path / "people.csv"
    path.write_bytes(("\r\n".join(["height,note,size,label", *rows]) + "\r\n").encode())
    return read_source(path)


@pytest.fixture
def photos(tmp_path):
    """A folder of twelve images in three classes."""
    from PIL import Image

    for place, name in enumerate(("ant", "bee", "cat")):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for number in range(4):
            Image.new("L", (6, 6), 80 * place + number).save(folder / f"{number}.png")
    return read_source(tmp_path / "photos")


@pytest.fixture
def arrays(tmp_path):
    """An .npz file of thirty rows and three named classes."""
    rng = np.random.default_rng(0)
    path = tmp_path / "arrays.npz"
    y = np.arange(30) % 3
    np.savez(path, x=rng.normal(size=(30, 4)), y=y, classes=["low", "mid", "top"], extra=np.arange(30), other=[1, 2])
    return read_source(path)


def read_source(path, **settings):
    """Data at a path, as the command reads them."""
    return Source.read(Data(str(path), **settings))
