"""T where true labels are known as well: the shares of given labels among the rows of each true class."""

from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.metrics import pair_counts, shares
from labelnoise.transition.checked import checked_labels
from labelnoise.types import Array


def estimate_known(y_true: Array, y_given: Array, classes: int) -> Tensor:
    """T (K, K) in float64 by plain counting; rows whose true label is -1, of none of the classes, are left out."""
    true = checked_labels(y_true, classes, "y_true", least=-1)
    given = checked_labels(y_given, classes, "y_given").to(true.device)
    if len(true) != len(given):
        raise InputError(f"y_true has {len(true)} rows but y_given has {len(given)}; give pairs")
    counts = known_counts(true, given, classes)
    empty = (counts.sum(1) == 0).nonzero()
    if len(empty):
        label = int(empty[0])
        raise InputError(f"no row has the true class {label}, so its row of T is unknown; add some, or drop the class")
    return shares(counts)


def known_counts(true: Tensor, given: Tensor, classes: int) -> Tensor:
    """How many rows have which pair of labels, (K true, K given)."""
    inside = true >= 0
    return pair_counts(true[inside], given[inside], classes)
