"""Judging R runs: predictions on every part, compared with given and, where known, with true labels."""

from collections.abc import Callable, Iterator
from functools import reduce
from math import prod

import torch
from torch import Tensor

from labelnoise.data.loader import PARTS, Chunk, Loader, Part
from labelnoise.engine.executors import Executor
from labelnoise.metrics import margin_counts, matrix_error, pair_counts, shares
from labelnoise.metrics.margins import margins

ROWS = 256  # at once, at most; bounds the memory of methods that sample
ON_GPU = 4  # times as many, for there a call costs more than its rows
NUMBERS = {"cpu": 2**20, "cuda": 2**26}  # of inputs at once, over all runs: a signal is heard between two chunks
MOST_LEARNT = 10_000  # rows of the training part that are judged after an epoch, evenly spread: enough for 1 %
BINS = 300  # of confidence: they merge into 15, and into 100
Pause = Callable[[], None]
Progress = Callable[[float], None]  # the share that is done


def evaluate(
    executor: Executor, loader: Loader, pause: Pause = lambda: None, progress: Progress = lambda _: None
) -> dict[str, Tensor]:
    """Measures by name, each (R,) and still on the device; `pause` and `progress` are called between chunks.

    `validation/score` is the accuracy of the *given* labels' predictions on noisy validation: what selects a model.
    Where the truth is known, rows of training and validation are judged apart: `clean_accuracy` of those with a right
    label; of those with a wrong one `wrong_accuracy_true`, how many are recovered, and `wrong_accuracy_given`, how many
    are memorised. Of a training part beyond 10,000 rows an even share is judged.
    Rows that belong to none of the classes (true label -1) have wrong labels, and none that could be predicted.
    `train/T_error` is how far entries of a method's T are from what the training labels are, on average.
    """
    measures: dict[str, Tensor] = {}
    strides = {part: _stride(loader) if part == "train" else 1 for part in PARTS}
    judged = {part: loader.parts[part].every(stride) for part, stride in strides.items()}
    rows, done = sum(part.rows.shape[1] for part in judged.values()), 0
    for part, stride in strides.items():
        sums: dict[str, Tensor] = {}
        for chunk in loader.chunks(part, rows_at_once(loader), stride):
            log_probs = executor.log_probs(chunk.x)
            found = _compare(log_probs, chunk)
            if part != "test" and chunk.y_true is not None:
                found |= _apart(log_probs.argmax(-1), chunk.y_given, chunk.y_true)
            if part == "validation":
                given = executor.log_probs(chunk.x, noisy=True) if executor.tells_given_apart else log_probs
                found["score"] = _count(given.argmax(-1) == chunk.y_given)
            sums = {name: sums.get(name, 0) + value for name, value in found.items()}
            pause()
            done += chunk.y_given.shape[1]
            progress(done / rows)
        measures |= {f"{part}/{name}": value for name, value in _shares(sums, judged[part]).items()}
    return measures | {f"train/{name}_error": value for name, value in _of_matrices(executor, loader).items()}


def training_probs(executor: Executor, loader: Loader, pause: Pause = lambda: None) -> Tensor:
    """Predicted probabilities of the training set, (R, N, K); `pause` is called between chunks."""
    return torch.cat([probs for probs, _ in _predicted(executor, loader, "train", pause)], dim=1)


def details(executor: Executor, loader: Loader, classes: int, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """Counts that a report is made of, with the run axis first: those of `on_test_part`, and of the other parts.

    validation_counts (R, K, K): predicted class by given label. T (R, K, K), of methods that have one. Where the truth
    is known: train_counts (R, K, K), true by given label.
    """
    found = on_test_part(executor, loader, classes, pause)
    guesses = [probs.argmax(-1) for probs, _ in _predicted(executor, loader, "validation", pause)]
    found["validation_counts"] = _pairs(torch.cat(guesses, dim=1), loader.parts["validation"].y_given, classes)
    if (y_true := loader.parts["train"].y_true) is not None:
        found["train_counts"] = _pairs(y_true, loader.labels, classes)
    return found | executor.transition()


def on_test_part(executor: Executor, loader: Loader, classes: int, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """What is predicted of the test part, with the run axis first; the reference is the truth where it is known.

    test_confusion (R, K, K): reference by predicted class. test_bins (R, 300, 3): rows, summed confidence and hits in
    equal bins (lo, hi] of confidence.
    """
    every = [_judged(probs, chunk) for probs, chunk in _predicted(executor, loader, "test", pause)]
    predicted, confidence, reference = (torch.cat(each, dim=1) for each in zip(*every, strict=True))
    return {
        "test_confusion": _pairs(reference, predicted, classes),
        "test_bins": _bins(confidence, predicted == reference, reference >= 0),
    }


def counted_margins(executor: Executor, loader: Loader, classes: int, pause: Pause = lambda: None) -> dict[str, Tensor]:
    """How far labels stand above the mean class, with the run axis first; nothing where the truth is unknown.

    margin_counts (R, 3, 3, 60): of all training rows, those labelled rightly and those labelled wrongly, the margins of
    the true, the given and the predicted class in probability; of a large part an even share, as in `evaluate`.
    """
    if loader.parts["train"].y_true is None:
        return {}
    learnt = (
        _margins(probs, chunk.y_given, chunk.y_true, classes)
        for probs, chunk in _predicted(executor, loader, "train", pause, _stride(loader))
        if chunk.y_true is not None
    )
    return {"margin_counts": reduce(torch.add, learnt)}


def _of_matrices(executor: Executor, loader: Loader) -> dict[str, Tensor]:
    y_true, matrices = loader.parts["train"].y_true, executor.transition()
    if y_true is None or not matrices:
        return {}
    realised = shares(_pairs(y_true, loader.labels, matrices["T"].shape[-1]))  # (R, K, K)
    return {name: matrix_error(T, realised).mean_absolute for name, T in matrices.items()}


def rows_at_once(loader: Loader) -> int:
    """How many rows of every run are predicted in one call."""
    return most_at_once(len(loader.seeds), loader.shape, loader.device)


def most_at_once(runs: int, shape: tuple[int, ...], device: torch.device) -> int:
    """The same for so many runs on inputs of this shape."""
    numbers = runs * prod(shape)  # of one row in every run
    most = ROWS * (ON_GPU if device.type == "cuda" else 1)
    return max(1, min(most, NUMBERS[device.type] // numbers))


def _stride(loader: Loader) -> int:
    return -(-loader.samples // MOST_LEARNT)


def _predicted(
    executor: Executor, loader: Loader, part: str, pause: Pause, stride: int = 1
) -> Iterator[tuple[Tensor, Chunk]]:
    for chunk in loader.chunks(part, rows_at_once(loader), stride):
        yield executor.log_probs(chunk.x).exp(), chunk
        pause()


def _judged(probs: Tensor, chunk: Chunk) -> tuple[Tensor, Tensor, Tensor]:
    confidence, predicted = probs.double().max(-1)
    return predicted, confidence, chunk.y_given if chunk.y_true is None else chunk.y_true


def _pairs(first: Tensor, second: Tensor, classes: int) -> Tensor:
    # how often each pair of classes occurs in two (R, n) tensors, as (R, K, K); a first of no class is left out
    return pair_counts(second, first, classes).mT.contiguous()


def _margins(probs: Tensor, y_given: Tensor, y_true: Tensor, classes: int) -> Tensor:
    right = y_given == y_true
    rows = torch.stack([torch.ones_like(right), right, ~right], dim=1).unsqueeze(2)  # (R, 3, 1, n)
    each = torch.stack([margins(probs, y) for y in (y_true, y_given, probs.argmax(-1))], dim=1)
    return margin_counts(each.unsqueeze(1).where(rows, torch.nan), classes)


def _bins(confidence: Tensor, right: Tensor, known: Tensor) -> Tensor:
    edges = torch.arange(1, BINS, dtype=confidence.dtype, device=confidence.device) / BINS
    bins = torch.bucketize(confidence, edges)
    each = torch.stack([torch.ones_like(confidence), confidence, right.to(confidence.dtype)], dim=-1)
    each = each * known.unsqueeze(-1)
    empty = each.new_zeros(len(each), BINS, 3)
    return empty.scatter_add(1, bins.unsqueeze(-1).expand_as(each), each)


def _compare(log_probs: Tensor, chunk: Chunk) -> dict[str, Tensor]:
    predicted = log_probs.argmax(-1)
    found: dict[str, Tensor] = {}
    for which, y in (("given", chunk.y_given), ("true", chunk.y_true)):
        if y is not None:
            nll = -log_probs.gather(-1, y.clamp_min(0).unsqueeze(-1)).squeeze(-1)
            found |= {f"accuracy_{which}": _count(predicted == y), f"nll_{which}": (nll * (y >= 0)).sum(-1)}
    return found


def _apart(predicted: Tensor, y_given: Tensor, y_true: Tensor) -> dict[str, Tensor]:
    wrong, right = y_given != y_true, predicted == y_true
    return {
        "clean_accuracy": _count(~wrong & right),
        "wrong_accuracy_true": _count(wrong & right),
        "wrong_accuracy_given": _count(wrong & (predicted == y_given)),
    }


def _shares(sums: dict[str, Tensor], part: Part) -> dict[str, Tensor]:
    # of all rows, or of those that are meant; 0 / 0 where there is none
    rows = part.rows.shape[1]
    among: dict[str, Tensor] = {}
    if part.y_true is not None:
        known, wrong = part.y_true >= 0, part.y_given != part.y_true
        among = dict.fromkeys(("accuracy_true", "nll_true"), _count(known))
        among |= {"clean_accuracy": _count(~wrong), "wrong_accuracy_given": _count(wrong)}
        among["wrong_accuracy_true"] = _count(wrong & known)
    return {name: value / among.get(name, rows) for name, value in sums.items()}


def _count(holds: Tensor) -> Tensor:
    return holds.sum(-1).double()
