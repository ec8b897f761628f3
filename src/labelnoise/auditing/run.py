"""The audit as people ask for it: data and labels in, a judgement of every row out."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.folds import fold_evidence
from labelnoise.auditing.given import Given, given_beside, given_of, identified, own_index
from labelnoise.auditing.linear import linear_probs
from labelnoise.auditing.neighbours import checked_embeddings, neighbour_shares
from labelnoise.config import Data
from labelnoise.crossfit.cut import possible_folds
from labelnoise.data.arrays import array
from labelnoise.data.own import DEFAULTS
from labelnoise.errors import InputError
from labelnoise.methods.notation import from_text
from labelnoise.sweep.run import Display

if TYPE_CHECKING:
    from labelnoise.auditing.result import Audit


def audit(
    X: Any = None,
    y: Any = None,
    *,
    ids: Sequence[Hashable] | None = None,
    probs: Any = None,
    embeddings: Any = None,
    classes: Sequence[Any] | None = None,
    method: str = "gce",
    others: str | Sequence[str] = (),
    folds: int = 5,
    epochs: int | None = None,
    seed: int = 0,
    device: str = "auto",
    settings: Data = DEFAULTS,
    display: Display | None = None,
) -> "Audit":
    """Which labels are wrong, how many, and how sure that is.

    `X` is a path or name, a DataFrame, or an array with labels y: names, numbers or booleans, None, NaN or the whole
    number -1 where a row has none. The issues have the index of a DataFrame, and numbers of rows for an array.
    Networks are trained on folds by `method`, such as `"gce(q=0.5)"`, and by `others` whose agreement counts too.
    Nothing is trained where you give `probs` (n, K), out of sample, with columns in the order of `classes` or a
    DataFrame whose columns are called after them, or `embeddings` (n, D), on which a logistic regression is. Then X
    may be None. Embeddings beside other evidence tell what the nearest rows are labelled. `settings` says which
    columns of a table mean what, as `Data(label_column="y")`.
    """
    further = (others,) if isinstance(others, str) else tuple(others)
    told = None if probs is None else checked_probs(probs)
    learns = told is None and embeddings is None
    _check_wishes((method, *further), epochs, seed, learns=learns)
    if X is None and y is None:
        raise InputError("there are no labels; give them as y, or data that hold them as X")
    if y is not None and (X is None or not learns):
        given = given_beside(y, classes, None if told is None else told.shape[1])
    else:
        given = given_of(X, y, settings, classes, inputs=learns)
    given = _named(given, X if X is not None else y, ids, settings)
    if told is not None:
        evidence = Evidence(given.labels, _fitting(_arranged(probs, told, given), given), given.classes)
    elif embeddings is not None:
        evidence = _linear(given, embeddings, folds, seed)
    elif given.dataset is None:
        raise InputError("y alone says nothing; give X as well, or probs or embeddings")
    else:
        evidence = fold_evidence(
            given.dataset,
            given=given.labels,
            method=method,
            others=further,
            folds=folds,
            epochs=epochs,
            seed=seed,
            device=device,
            display=display,
        )
    if embeddings is not None:
        vectors = checked_embeddings(embeddings, len(given.labels))
        evidence = replace(evidence, neighbours=neighbour_shares(vectors, given.labels, len(given.classes)))
    return judged(evidence, given.ids, seed=seed, notes=(*given.notes, *evidence.notes))


def judged(evidence: Evidence, ids: Sequence[Hashable], *, seed: int, notes: Sequence[str] = ()) -> "Audit":
    """The audit of some evidence, with notes on how that came about."""
    from labelnoise.auditing.examine import examine

    found = examine(evidence, ids=ids, seed=seed)
    return replace(found, notes=(*notes, *found.notes))


def checked_probs(probs: Any) -> NDArray[np.float32]:
    """Probabilities of one's own as a matrix of float32; one that is such already is not copied."""
    matrix = array(probs)
    if matrix.ndim != 2 or matrix.shape[1] < 2 or matrix.dtype.kind not in "biuf":
        raise InputError(f"probs must be numbers of shape (rows, classes), not {matrix.dtype} of {matrix.shape}")
    return matrix if matrix.dtype == np.float32 else matrix.astype(np.float32)


def _check_wishes(methods: tuple[str, ...], epochs: int | None, seed: int, *, learns: bool) -> None:
    for each in methods:
        from_text(each)  # a sentence where it is none
    if len(methods) > 1 and not learns:
        raise InputError("others are methods to train, but beside probs or embeddings nothing is; leave them out")
    if epochs is not None and (not isinstance(epochs, int | np.integer) or epochs < 1):
        raise InputError(f"epochs must be a whole number, at least 1, not {epochs!r}")
    if epochs is not None and not learns:
        raise InputError("epochs are of networks to train, but beside probs or embeddings none is; leave them out")
    if not isinstance(seed, int | np.integer):
        raise InputError(f"seed must be a whole number, not {seed!r}")


def _named(given: Given, source: Any, ids: Sequence[Hashable] | None, settings: Data) -> Given:
    if ids is not None or settings.id_column:
        return identified(given, ids)
    own, notes = own_index(source)
    if own is not None and len(own) != len(given.labels):
        raise InputError(f"X has {len(own)} rows but y {len(given.labels)} labels; give one for each row")
    return identified(given, own)._replace(notes=(*given.notes, *notes))


def _arranged(probs: Any, matrix: NDArray[np.float32], given: Given) -> NDArray[np.float32]:
    # columns that have names are put in the order of the classes
    if not hasattr(probs, "columns"):
        return matrix
    names = [str(each) for each in probs.columns]
    if sorted(names) != sorted(given.classes):
        raise InputError(
            f"the columns of probs are {', '.join(names)} but the classes {', '.join(given.classes)}; call each column "
            "after its class, or give an array"
        )
    return matrix[:, [names.index(each) for each in given.classes]]


def _fitting(probs: NDArray[np.float32], given: Given) -> NDArray[np.float32]:
    if len(probs) != len(given.labels):
        raise InputError(f"probs has {len(probs)} rows but there are {len(given.labels)} labels; give one for each row")
    if probs.shape[1] != len(given.classes):
        raise InputError(
            f"probs has {probs.shape[1]} columns but the data have {len(given.classes)} classes; "
            "name the class of each column with classes"
        )
    return probs


def _linear(given: Given, embeddings: Any, folds: int, seed: int) -> Evidence:
    vectors = checked_embeddings(embeddings, len(given.labels))
    probs = linear_probs(vectors, given.labels, len(given.classes), folds=folds, seed=seed)
    notes = possible_folds(folds, int((given.labels >= 0).sum()))[1]
    return Evidence(given.labels, probs, given.classes, own=False, notes=notes)
