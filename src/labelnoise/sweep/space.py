"""What a search tries, values of a grid or from the ranges that methods declare with `hyper()`, and what is best."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from labelnoise.config import Named, Search, Value
from labelnoise.methods import build
from labelnoise.methods.base import Range, hyper_fields
from labelnoise.rng import uniforms


def trials(method: Named, search: Search) -> list[Named]:
    """The method as it is, and `search.trials` - 1 others; a hyper-parameter that was set by hand stays."""
    ranges = hyper_fields(build(method.name, method.settings))
    free = {name: span for name, span in ranges.items() if name not in method.settings}
    values = _grid(free, search.trials - 1) if search.kind == "grid" else _random(method.name, free, search.trials - 1)
    return [method, *(Named(method.name, {**method.settings, **each}) for each in values if each)]


def points(method: Named, grid: Mapping[str, Sequence[Value]]) -> list[Named]:
    """The method at every point of a grid, whose last setting changes fastest; as it is where the grid is empty."""
    settings = (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))
    return [Named(method.name, {**method.settings, **each}) for each in settings]


def best(tried: Collection[str], scores: Mapping[str, float]) -> str:
    """The one with the highest score, the earliest tried of equals; the first of all where none has a score."""
    return max((each for each in tried if each in scores), key=lambda each: scores[each], default=next(iter(tried)))


def _random(method: str, ranges: dict[str, Range], count: int) -> Iterator[dict[str, float]]:
    # the n-th trial is the same however many there are
    draws = {name: uniforms(count, "search", method, name) for name in ranges}
    for i in range(count):
        yield {name: _at(span, draws[name][i]) for name, span in ranges.items()}


def _grid(ranges: dict[str, Range], count: int) -> Iterator[dict[str, float]]:
    # as many points on every axis as the count allows, the ends of the range among them
    points = int(count ** (1 / max(len(ranges), 1)) + 1e-9)
    shares = np.linspace(0, 1, points) if points > 1 else np.full(points, 0.5)
    for each in product(shares, repeat=len(ranges)):
        yield {name: _at(span, share) for (name, span), share in zip(ranges.items(), each, strict=True)}


def _at(span: Range, share: float) -> float:
    # four digits, so that a value can be quoted and typed
    low, high, log = span
    return float(f"{low * (high / low) ** share if log else low + share * (high - low):.4g}")
