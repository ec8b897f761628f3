"""The line with which a job begins: its data, their parts, the network and the training."""

from collections.abc import Mapping, Sequence
from typing import Any

from labelnoise.config import Job, Named
from labelnoise.data.rows import counted
from labelnoise.nets.base import NETS, resolved

MOST_NAMES = 10  # of classes


def headline(job: Job, facts: Mapping[str, Any]) -> str:
    """One sentence on what is learnt from, and by which network."""
    classes, parts = facts["classes"], facts["parts"]
    names = listed(classes[:MOST_NAMES]) + (", …" if len(classes) > MOST_NAMES else "")
    inputs = " × ".join(map(str, facts["shape"]))
    return (
        f"{facts['name']}: {facts['rows']} rows of {inputs} inputs, {len(classes)} classes ({names}); "
        f"{parts['train']} to train on, {parts['validation']} for noisy validation, {parts['test']} for the test; "
        f"network {network(job.net)}, {counted(job.train.epochs, 'epoch')}, batches of {job.train.batch}"
    )


def listed(names: Sequence[str]) -> str:
    """Names with commas between them, in quotes where a name has a comma itself."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


def network(net: Named) -> str:
    """The name with the settings that are not the usual ones, such as `resnet18 (stem=imagenet)`."""
    usual = resolved(net.name) if net.name in NETS else {}
    own = {name: value for name, value in net.settings.items() if name not in usual or usual[name] != value}
    return f"{net.name} ({', '.join(f'{name}={value}' for name, value in own.items())})" if own else net.name
