"""The kinds of noise: what each changes of a data set, and what can be said of it beforehand."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from labelnoise.data.dataset import Dataset
from labelnoise.errors import InputError
from labelnoise.noise.annotators import Vote, annotate, annotators, vote, voted
from labelnoise.noise.flip import Draws, redraw
from labelnoise.noise.instance import Features, expected_rate, instance_dependent, score_dependent
from labelnoise.noise.matrix import TransitionMatrix, check_rate
from labelnoise.noise.open_set import FOREIGN, open_set, scrambled
from labelnoise.noise.published_instance import published_instance

OLD_SEEDS = 2**32  # that numpy's old generator takes
SCRAMBLED = 10_000  # inputs made to draw from where no foreign data are named

Draw = Callable[[Dataset, Tensor, int], Dataset]  # data set, rows that it may change, seed


@dataclass(frozen=True)
class Noise:
    """How given labels come about; `definition` says it in one way only, whichever way it was asked for."""

    definition: str
    rate: float  # of wrong labels that is aimed at, where classes are equally frequent
    T: TransitionMatrix | None  # None where the given label depends on more than the true one
    draw: Draw

    def expected_rate(self, dataset: Dataset, rows: Tensor) -> float:
        """The share of labels of these rows that noise is expected to make wrong, given how frequent classes are."""
        if self.T is None:
            return self.rate
        counts = torch.bincount(dataset.y_given[rows], minlength=self.T.classes).double()
        return self.T.rate(counts / counts.sum())

    def remarks(self, classes: int) -> list[str]:
        """What a person should know before such noise is added."""
        said = []
        if self.definition.startswith("instance:") and classes == 2:
            said.append("with two classes instance noise does not depend on the input; score does")
        if self.T is not None and (self.T.probs.diagonal() < self.T.probs.max(1).values).any():
            said.append(f"noise {self.definition!r} makes a wrong label likelier than the right one for some class")
        return said


def by_class(definition: str, T: TransitionMatrix, *, exact: bool = False) -> Noise:
    """Noise that depends on the true class alone; `exact` as in `flip`, over the rows that it may change."""

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        draws = Draws.of(len(dataset), seed).at(rows.numpy())
        return _given(dataset, rows, redraw(dataset.y_given[rows].numpy(), T, draws, exact=exact))

    return Noise(definition, T.rate(), T, draw)


def by_instance(definition: str, rate: float, features: Features) -> Noise:
    """Part-dependent noise, of all rows alike, whichever are changed."""
    check_rate(rate)

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        x, y, classes = _in_memory(definition, dataset), dataset.y_given, len(dataset.classes)
        return _given(
            dataset, rows, instance_dependent(x, y, rate, classes=classes, seed=seed, features=features)[rows].numpy()
        )

    return Noise(definition, expected_rate(rate), None, draw)


def by_published_instance(definition: str, rate: float) -> Noise:
    """Part-dependent noise of all rows that are not kept for the test, by the random numbers of public code."""
    check_rate(rate)

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        x, given, drawn = _in_memory(definition, dataset), dataset.y_given.clone(), dataset.learnable
        given[drawn] = published_instance(
            x[drawn], given[drawn], rate, classes=len(dataset.classes), seed=seed % OLD_SEEDS
        )
        return _given(dataset, rows, given[rows].numpy())

    return Noise(definition, expected_rate(rate), None, draw)


def by_score(definition: str, rate: float, classes: int) -> Noise:
    """Noise whose rate rises along a direction of the inputs, of all rows alike, whichever are changed."""
    check_rate(rate, (classes - 1) / classes)

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        x, y, classes = _in_memory(definition, dataset), dataset.y_given, len(dataset.classes)
        return _given(dataset, rows, score_dependent(x, y, rate, classes=classes, seed=seed)[rows].numpy())

    return Noise(definition, rate, None, draw)


def by_annotators(definition: str, classes: int, rate: float, how: Vote) -> Noise:
    """One label made of those of three annotators, who are the same whatever the seed."""
    matrices = annotators(classes, rate)
    T = voted(matrices, how)

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        y = dataset.y_given.numpy()
        given = vote(annotate(y, matrices, seed=seed), how, y_true=y, seed=seed)
        return _given(dataset, rows, given[rows.numpy()])

    return Noise(definition, T.rate(), T, draw)


def by_foreign(definition: str, rate: float, other: Callable[[int], Dataset] | None) -> Noise:
    """Open-set noise with inputs of another data set, or with scrambled ones of this; their true label is -1."""
    check_rate(rate)

    def draw(dataset: Dataset, rows: Tensor, seed: int) -> Dataset:
        x = _in_memory(definition, dataset)
        source = scrambled(x, SCRAMBLED, seed=seed) if other is None else _in_memory(definition, other(seed))
        changed, replaced = open_set(x, rate, source, seed=seed)
        here = torch.zeros(len(x), dtype=torch.bool)
        here[rows] = True
        places = (replaced & here).nonzero().squeeze(1)
        inputs, y_true = x.clone(), dataset.y_given.clone() if dataset.y_true is None else dataset.y_true.clone()
        inputs[places], y_true[places] = changed[places], FOREIGN
        return replace(dataset, x=inputs, y_true=y_true)

    return Noise(definition, rate, None, draw)


def _given(dataset: Dataset, rows: Tensor, labels: np.ndarray) -> Dataset:
    y_given = dataset.y_given.clone()
    y_given[rows] = torch.from_numpy(labels)
    return replace(dataset, y_given=y_given)


def _in_memory(definition: str, dataset: Dataset) -> Tensor:
    if not isinstance(dataset.x, Tensor):
        raise InputError(f"noise {definition!r} looks at the inputs, but those of {dataset.name} are read from disk")
    return dataset.x
