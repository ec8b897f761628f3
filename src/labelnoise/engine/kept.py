"""What networks learn from, held against the truth: numbers of a step, and what their means over an epoch say.

Nothing is divided before the epoch is over, so batches count by what they keep, and no step waits for the device.
"""

from collections.abc import Mapping

from torch import Tensor

from labelnoise.engine.step import Tensors

RIGHT = "right|"  # begins the names of numbers that only the measures are made of


def of_step(kept: Mapping[str, Tensor], right: Tensor | None) -> Tensors:
    """Shares of a batch (R,), from the weights (R, B) per network and, where it is known, which labels are right."""
    found = {f"kept_{name}": weight.mean(-1) for name, weight in kept.items()}
    if kept and right is not None:
        found |= {f"{RIGHT}{name}": (weight * right).mean(-1) for name, weight in kept.items()}
        found[RIGHT] = right.double().mean(-1)
    return found


def compared(means: Mapping[str, Tensor]) -> Tensors:
    """The means over an epoch, in which the shares of right labels have become precision and recall.

    kept_NAME: the share of the examples that a network learns from. kept_precision_NAME: the share of that whose labels
    are right. kept_recall_NAME: the share of the right labels that is kept.
    """
    measures = {name: value for name, value in means.items() if not name.startswith(RIGHT)}
    for name, both in means.items():
        if name.startswith(RIGHT) and name != RIGHT:
            network = name.removeprefix(RIGHT)
            measures[f"kept_precision_{network}"] = both / means[f"kept_{network}"]
            measures[f"kept_recall_{network}"] = both / means[RIGHT]
    return measures
