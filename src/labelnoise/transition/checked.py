"""Probabilities and labels as estimators need them: tensors that have been checked."""

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.types import Array


def checked_probs(probs: Array) -> Tensor:
    """Posteriors (N, K), at least as many as classes; the sentence names the row that holds no probabilities."""
    probs = torch.as_tensor(probs)
    if probs.ndim != 2 or probs.shape[1] < 2 or not probs.is_floating_point():
        raise InputError(
            f"probs must be of shape (examples, classes) and floating point, not {tuple(probs.shape)} of {probs.dtype}"
        )
    if len(probs) < probs.shape[1]:
        raise InputError(f"{len(probs)} examples cannot hold anchors for {probs.shape[1]} classes; give more examples")
    wrong = ~((probs >= 0).all(1) & (probs.sum(1) > 0) & probs.isfinite().all(1))  # NaN is not at least 0
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise InputError(f"row {row} of probs holds no probabilities; give softmax outputs without NaN")
    return probs


def checked_labels(labels: Array, classes: int, name: str = "labels", least: int = 0) -> Tensor:
    """Labels (N,) from `least` to classes - 1, in int64."""
    labels = torch.as_tensor(labels)
    if labels.ndim != 1 or labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise InputError(f"{name} must be a vector of whole numbers, not {labels.dtype} of shape {tuple(labels.shape)}")
    outside = ((labels < least) | (labels >= classes)).nonzero()
    if len(outside):
        row = int(outside[0])
        raise InputError(f"{name} holds {int(labels[row])} in row {row}, but the classes are 0 to {classes - 1}")
    return labels.long()


def checked_pair(probs: Array, labels: Array) -> tuple[Tensor, Tensor]:
    """Posteriors in float64 and a given label for each."""
    probs = checked_probs(probs).double()
    labels = checked_labels(labels, probs.shape[1]).to(probs.device)
    if len(labels) != len(probs):
        raise InputError(f"probs has {len(probs)} rows but labels has {len(labels)}; give one label for each row")
    return probs, labels
