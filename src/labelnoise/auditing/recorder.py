"""Evidence from anybody's loop: batch by batch, what a network says of the rows it is learning from.

The network has seen these rows, so it may have learnt wrong labels by heart: the evidence is in-sample. The mean over
the epochs helps, since a wrong label is learnt late; out-of-fold probabilities are better.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.evidence import Evidence
from labelnoise.data.rows import numbered
from labelnoise.errors import InputError

if TYPE_CHECKING:
    from labelnoise.auditing.result import Audit

FIRST = 1024  # rows for which there is room at once; doubled where they are more
MASKED = np.float32(50)  # how far below the largest logit one of minus infinity counts, so that margins are numbers
IN_SAMPLE = (
    "the probabilities were recorded while the rows were learnt from, so wrong labels that were learnt by heart are "
    "missed; stop early, or use folds"
)


class Recorder:
    """Sums for each row over all epochs: its memory grows with rows and classes, not with epochs."""

    def __init__(self, classes: int | Sequence[object]) -> None:
        self.classes = numbered(int(classes)) if isinstance(classes, int | np.integer) else _names(classes)
        if len(set(self.classes)) < max(2, len(self.classes)):
            raise InputError(f"classes must be two or more different names, or how many there are, not {classes!r}")
        self._rows: dict[Hashable, int] = {}
        self._labels = np.full(FIRST, -1, np.int64)
        self._times = np.zeros(FIRST, np.int64)
        self._margins = np.zeros(FIRST, np.float64)
        self._probs = np.zeros((FIRST, len(self.classes)), np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """Of all rows so far, in the order in which they came first."""
        return tuple(self._rows)

    def update(self, ids: Any, logits: Any, labels: Any) -> None:
        """Add a batch: ids that name the rows, logits (B, K) and given labels as numbers of classes, -1 for none.

        Tensors, arrays or lists; a row may come again, in the next epoch or in the same.
        """
        names, scores, given = _listed(ids), _numbers(logits), np.asarray(_listed(labels))
        if not (names or scores.size or given.size):
            return
        self._check(names, scores, given)
        given = given.astype(np.int64)
        self._check_labels(names, given.tolist())
        rows = np.array([self._rows.setdefault(name, len(self._rows)) for name in names], np.int64)
        self._grow()
        self._labels[rows] = given
        np.add.at(self._times, rows, 1)
        np.add.at(self._probs, rows, _softmax(scores))
        np.add.at(self._margins, rows, _margins(scores, given))

    def evidence(self) -> Evidence:
        """Given labels, mean probabilities and mean margins of all rows, in the order of `ids`."""
        if len(self) < 2:
            raise InputError(f"{len(self)} rows were recorded; call update(ids, logits, labels) for every batch")
        here = slice(0, len(self))
        times = self._times[here]
        probs: NDArray[np.float32] = self._probs[here] / times.astype(np.float32)[:, None]
        return Evidence(
            self._labels[here].copy(),
            probs,
            self.classes,
            margins=(self._margins[here] / times).astype(np.float32),
        )

    def audit(self, *, left_aside: bool = False, seed: int = 0) -> "Audit":
        """The same audit that `labelnoise.audit` gives, of what was recorded, in training or of rows left aside."""
        from labelnoise.auditing.run import judged

        return judged(self.evidence(), self.ids, seed=seed, notes=() if left_aside else (IN_SAMPLE,))

    def _check(self, names: list[Any], logits: NDArray[np.float32], labels: NDArray[Any]) -> None:
        shape = (len(names), len(self.classes))
        if logits.shape != shape or labels.shape != shape[:1]:
            raise InputError(
                f"{len(names)} ids came with logits of shape {logits.shape} and labels of shape {labels.shape}; "
                f"for {len(self.classes)} classes they must have shapes {shape} and {shape[:1]}"
            )
        _check_hashable(names)
        if labels.dtype.kind not in "biu" or (len(labels) and not -1 <= labels.min() <= labels.max() < shape[1]):
            raise InputError(f"labels must be numbers of classes, 0 to {shape[1] - 1}, or -1 where there is none")
        if not (finite := np.isfinite(logits.max(1))).all():  # single classes may be masked by minus infinity
            raise InputError(f"the logits of row {names[int(finite.argmin())]!r} hold NaN or infinity; stop training")

    def _check_labels(self, names: list[Any], labels: list[int]) -> None:
        here: dict[Hashable, int] = {}
        for name, label in zip(names, labels, strict=True):
            before = self._labels[self._rows[name]] if name in self._rows else here.setdefault(name, label)
            if before != label:
                raise InputError(
                    f"row {name!r} came with label {before} before and with {label} now; "
                    "each row has an id of its own and keeps its label"
                )

    def _grow(self) -> None:
        while len(self._rows) > len(self._labels):
            more = len(self._labels)
            self._labels = np.concatenate([self._labels, np.full(more, -1, np.int64)])
            for name in ("_times", "_margins", "_probs"):
                held = getattr(self, name)
                setattr(self, name, np.concatenate([held, np.zeros_like(held)]))


def _names(classes: Any) -> tuple[str, ...]:
    if not isinstance(classes, Iterable):
        raise InputError(f"classes must be two or more different names, or how many there are, not {classes!r}")
    return tuple(map(str, classes))


def _listed(values: Any) -> list[Any]:
    # single numbers of tensors and arrays as plain ones: equal tensors have different hashes
    found = values.tolist() if hasattr(values, "tolist") else values
    return [each.item() if getattr(each, "ndim", None) == 0 else each for each in found]


def _check_hashable(names: list[Any]) -> None:
    for name in names:
        try:
            hash(name)
        except TypeError:
            raise InputError(
                f"the id {name!r} is a {type(name).__name__}, which has no hash; give numbers, texts or tuples"
            ) from None


def _numbers(logits: Any) -> NDArray[np.float32]:
    if hasattr(logits, "detach"):  # a tensor, on whatever device and in whatever precision
        logits = logits.detach().float().cpu().numpy()
    return np.asarray(logits, np.float32)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers: NDArray[np.float32] = np.exp(logits - logits.max(1, keepdims=True))
    shares: NDArray[np.float32] = powers / powers.sum(1, keepdims=True)
    return shares


def _margins(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    # NaN where there is no label
    rows, largest = np.arange(len(logits)), logits.max(1, keepdims=True)
    masked = np.isneginf(logits)
    lowest = np.where(masked, largest, logits).min(1, keepdims=True)
    seen = np.where(masked, np.minimum(lowest, largest - MASKED), logits)
    others = seen.copy()
    others[rows, labels] = -np.inf
    return np.where(labels >= 0, seen[rows, labels] - others.max(1), np.float32(np.nan))
