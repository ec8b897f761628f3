"""Sentences on what was assumed, and on what cleaned data do otherwise than one might expect."""

from collections.abc import Iterator, Sequence

import numpy as np

from labelnoise.auditing.result import LIKELY, Audit
from labelnoise.data.dataset import Dataset
from labelnoise.reviewing.clean_folder import leading_out
from labelnoise.reviewing.corrections import condemned
from labelnoise.reviewing.outcome import Outcome
from labelnoise.reviewing.shown import outside
from labelnoise.reviewing.source import Source

MOST_NAMED = 5  # classes; of more the first are named


def on_classes(audit: Audit, source: Source) -> Iterator[str]:
    """On classes that the audit takes to be wrong altogether."""
    if names := condemned(audit, source.dataset):
        yield (
            f"Every label of class {_told(names)} seems wrong, which a rare class that was learnt badly looks like "
            "too: the cleaned data keep these rows as they are until somebody has looked at them."
        )


def on_losses(dataset: Dataset, done: Outcome) -> Iterator[str]:
    """On classes of which cleaned data take most labels for wrong: dropped, changed, or weighing less than half."""
    given, K = dataset.y_given.numpy(), len(dataset.classes)
    stays = done.kept & (done.labels == given)
    if done.weights is not None:
        stays &= done.weights >= 1 - LIKELY
    rows, left = np.bincount(given, minlength=K), np.bincount(given[stays], minlength=K)
    few = np.flatnonzero(2 * left < rows)
    if names := [f"{dataset.classes[label]} ({left[label]:,} of {rows[label]:,})" for label in few]:
        yield (
            f"The cleaned data keep few labels of class {_told(names)}, which a class that was learnt badly looks like "
            "too: look at its rows before you train on what is left."
        )


def on_images(source: Source) -> Iterator[str]:
    """On images that are not brought along."""
    if source.path is not None and source.kind == "folder" and (rows := leading_out(source.path, source.dataset)):
        first = source.path / source.dataset.ids[rows[0]]
        yield (
            f"Cleaned data leave out images that links lead to from outside {source.path}, {len(rows):,} of them, "
            f"such as {first}; move the files there."
        )


def on_hidden(source: Source) -> Iterator[str]:
    """On images that the page will not show."""
    if paths := outside(source):
        assert source.path is not None  # a table
        yield (
            f"The page will not show {len(paths):,} of {len(source.dataset):,} images, such as {paths[0]}, which lie "
            f"outside {source.images or source.path.parent}; name a folder that holds them with --images."
        )


def on_columns(source: Source) -> Iterator[str]:
    """On the classes that columns of probabilities are taken for where nobody has named them."""
    names = _told(source.dataset.classes)
    yield f"The columns of the probabilities are taken to be {names}; if they are not, name them with --classes."


def on_truth(audit: Audit, source: Source) -> Iterator[str]:
    """On what the audit is worth, where the true labels are known."""
    dataset = source.dataset
    if dataset.y_true is None:
        return
    wrong = (dataset.y_given != dataset.y_true).numpy()
    probability = audit.issues["wrong_probability"].loc[list(dataset.ids)].to_numpy()
    first = np.argsort(-probability, kind="stable")[: wrong.sum()]
    found = f", and {wrong[first].sum():,} of the {len(first):,} most suspicious rows" if wrong.any() else ""
    yield f"By the true labels {wrong.sum():,} of {len(wrong):,} labels are wrong{found}."


def _told(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
