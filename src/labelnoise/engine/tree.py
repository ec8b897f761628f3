"""Tensors inside tuples and dicts; torch's own functions for trees take longer than to launch a recorded step."""

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor


def leaves(tree: Any) -> Iterator[Tensor]:
    """The tensors of a tree, in the order in which they stand there."""
    if isinstance(tree, Tensor):
        yield tree
    else:
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(branch)


def mapped(function: Callable[..., Tensor], tree: Any, *others: Any) -> Any:
    """A tree of the same form, each tensor made by `function` of those in its place."""
    if isinstance(tree, Tensor):
        return function(tree, *others)
    if isinstance(tree, dict):
        return {name: mapped(function, branch, *(other[name] for other in others)) for name, branch in tree.items()}
    branches = (mapped(function, *each) for each in zip(tree, *others, strict=True))
    return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
