"""Evidence by training: a network for each fold says what it makes of rows that it has not learnt from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.learnt import learnt_classes
from labelnoise.auditing.notes import named
from labelnoise.comparing import augmentation
from labelnoise.config import Augment
from labelnoise.configure import build
from labelnoise.crossfit.cut import cut, possible_folds
from labelnoise.crossfit.train import CrossFit, Plan, crossfit, suited
from labelnoise.data.augment import to_float
from labelnoise.data.dataset import Dataset
from labelnoise.methods.notation import from_text
from labelnoise.sweep.run import Display, find_device

ROBUST, PLAIN = "gce", "ce"
REPLACED = f"{ROBUST} has not learnt every class and {PLAIN} has learnt more, so that its networks judge the rows"
WORTH_LEARNING = 10  # rows of a class that a method ought to learn
ENOUGH = 500  # images tell the mean and spread of their pixels
PLAINEST = 1e-3  # spread of a channel, so that one of a single value is not divided by 0


def fold_evidence(
    dataset: Dataset,
    *,
    given: NDArray[np.int64] | None = None,
    method: str = "gce",
    others: Sequence[str] = (),
    folds: int = 5,
    epochs: int | None = None,
    seed: int = 0,
    device: str = "auto",
    display: Display | None = None,
) -> Evidence:
    """Out-of-fold probabilities, all folds trained as one job, and the mean margin of each label while it is learnt.

    Robust methods may give a small class up. Where `gce` has not learnt a class of some rows, cross-entropy is trained
    as well, and takes its place if it has learnt more; a note says so.

    `given` holds -1 for rows whose label is missing: nothing is learnt from them, and all networks judge them. `others`
    are further methods, each trained likewise, whose probabilities stand beside those of the first.
    """
    display = display or Display()
    labels = dataset.y_given if given is None else torch.from_numpy(np.asarray(given, np.int64))
    count, notes = possible_folds(folds, int((labels >= 0).sum()))
    splits = cut(labels, count, seed)
    net, train = suited(dataset, len(splits[0].train), epochs=epochs)
    train = replace(train, augment=_augmentation(dataset))
    plan = Plan(replace(dataset, y_true=None), splits, net, {}, train, seed, find_device(device))
    methods = {each: from_text(each) for each in (method, *others)}
    display.expect(len(methods))
    first = crossfit(methods[method], plan, display)
    known = {method: first}
    if method == ROBUST and (lacking := _not_learnt(first, labels.numpy())).size:
        known[PLAIN] = _second(first, lacking, display, to_come=len({*others} - {ROBUST, PLAIN}))
        first = _better(known, labels.numpy(), display)
        notes += (REPLACED,) if first is known[PLAIN] else ()
    known |= {each: crossfit(methods[each], plan, display, margins=False) for each in others if each not in known}
    rest = [known[each] for each in dict.fromkeys(others) if known[each] is not first]  # whose agreement tells nothing
    return Evidence(
        labels.numpy(),
        first.probs.numpy(),
        dataset.classes,
        margins=None if first.margins is None else first.margins.numpy(),
        others=tuple(each.probs.numpy() for each in rest),
        own=False,
        notes=notes,
    )


def _augmentation(dataset: Dataset) -> Augment:
    # that of a standard data set, or each channel of images standardised as columns of tables are: few learn faster so
    usual, x = build(Augment, augmentation(dataset)), dataset.x
    if usual.mean or len(dataset.shape) != 3 or not isinstance(x, Tensor):
        return usual
    std, mean = torch.std_mean(to_float(x[:: max(1, len(x) // ENOUGH)]), (0, 2, 3))
    return replace(usual, mean=tuple(mean.tolist()), std=tuple(std.clamp_min(PLAINEST).tolist()))


def _not_learnt(first: CrossFit, given: NDArray[np.int64]) -> NDArray[np.int64]:
    rows = np.bincount(given[given >= 0], minlength=first.probs.shape[1])
    return np.flatnonzero((rows >= WORTH_LEARNING) & ~_learnt(first, given))


def _second(first: CrossFit, lacking: NDArray[np.int64], display: Display, *, to_come: int) -> CrossFit:
    # what cross-entropy makes of the rows, where classes are lacking
    names = named(first.plan.dataset.classes, lacking)
    display.say(f"{ROBUST} has not learnt {names}: {PLAIN} is trained as well, and judges the rows if it learns more")
    display.expect(1 + to_come)
    return crossfit(from_text(PLAIN), first.plan, display)


def _better(known: Mapping[str, CrossFit], given: NDArray[np.int64], display: Display) -> CrossFit:
    # of the two the one that has learnt more classes
    if _learnt(known[PLAIN], given).sum() > _learnt(known[ROBUST], given).sum():
        return known[PLAIN]
    display.say(f"{PLAIN} has learnt no more classes, so that {ROBUST} judges the rows")
    return known[ROBUST]


def _learnt(found: CrossFit, given: NDArray[np.int64]) -> NDArray[np.bool_]:
    labelled, best = given >= 0, found.probs.argmax(1).numpy()
    return learnt_classes(best[labelled], given[labelled], found.probs.shape[1])
