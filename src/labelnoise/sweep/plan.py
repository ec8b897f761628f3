"""Configs into packs: runs of equal structure are trained together, as many as fit."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from labelnoise.config import Named, RunConfig, digest
from labelnoise.methods import Method, build
from labelnoise.methods.base import expanded, nested, structure
from labelnoise.methods.notation import told as told_text
from labelnoise.methods.notation import untold
from labelnoise.sweep.code import code_of


@dataclass(frozen=True)
class Pack:
    """Runs that differ in seed, noise and packable hyper-parameters only."""

    configs: tuple[RunConfig, ...]
    methods: tuple[Method, ...]

    @property
    def name(self) -> str:
        """The method, and digits that change with every setting of every run."""
        return f"{self.configs[0].method.name}-{digest([config.identity for config in self.configs])[:8]}"


def told(method: Named, noise_rate: float | None) -> Named:
    """The method with all its settings: told the noise rate, as its paper runs it, where that is not set by hand."""
    asked = build(method.name, method.settings)
    plain, informed = asked.settled(), (asked if noise_rate is None else asked.informed(noise_rate)).settled()
    by_hand = {
        name: getattr(plain, name) for name in expanded(method.name, method.settings) if name not in plain.nested
    }
    return Named(method.name, {f.name: getattr(informed, f.name) for f in fields(informed)} | by_hand)


def set_by_rate(method: Named) -> list[str]:
    """The settings, not set by hand, that the noise rate would decide if it were told."""
    asked = build(method.name, method.settings)
    plain, informed = asked.settled(), asked.informed(0.1234).settled()  # of a method inside, one spelling
    changed = [f.name for f in fields(plain) if getattr(plain, f.name) != getattr(informed, f.name)]
    by_hand = set(expanded(method.name, method.settings)) - set(plain.nested)
    return [name for name in changed if name not in by_hand]


def told_by_rate(method: Named, rate: float) -> dict[str, Any]:
    """The settings of a method, given with all it has, that are what the noise rate makes them."""
    settings, informed = method.settings, told(Named(method.name), rate).settings
    found = {name: informed[name] for name in set_by_rate(Named(method.name)) if settings.get(name) == informed[name]}
    inside = {name: str(settings[name]) for name in nested(method.name) if name in settings}
    return found | {
        name: text for name, text in inside.items() if text == told_text(untold(text), rate) != untold(text)
    }


def plan_packs(
    configs: Sequence[RunConfig],
    done: Collection[str] = (),
    most: Callable[[Pack], int] = lambda pack: len(pack.configs),
    halved: Collection[frozenset[str]] = (),
) -> list[Pack]:
    """Packs in the order in which their first runs come, of at most so many runs, without those that are done.

    What is done plays no part in where packs begin: after an interruption the same ones are planned, for a checkpoint
    goes by the name of its pack. Runs that were halved together stay so, since their halves go by all of them.
    """
    groups: dict[tuple[Method, str], list[tuple[RunConfig, Method]]] = {}
    for config in configs:
        method = build(config.method.name, config.method.settings)
        rest = replace(config, method=Named(config.method.name), seed=0, noise="", transition="")
        groups.setdefault((structure(method), rest.identity), []).append((config, method))
    packs = [Pack(tuple(c for c, _ in group), tuple(m for _, m in group)) for group in groups.values()]
    wanted = [pack for pack in packs if any(config.identity not in done for config in pack.configs)]
    return [left for pack in wanted for piece in cut(pack, most(pack)) for left in _left_of(piece, set(done), halved)]


def cut(pack: Pack, most: int) -> list[Pack]:
    """Its runs in their order as packs of this size, the last one perhaps smaller."""
    starts = range(0, len(pack.configs), most)
    return [Pack(pack.configs[start : start + most], pack.methods[start : start + most]) for start in starts]


def halves(pack: Pack) -> list[Pack]:
    """Two packs, the first one perhaps larger, for one that does not fit in memory."""
    return cut(pack, -(-len(pack.configs) // 2))


def most_that_fit(each: int, room: int, limit: int) -> int:
    """How many runs that need so many bytes each have room, up to a limit; at least one, for an estimate may err."""
    return max(1, min(limit, room // each))


def _left_of(piece: Pack, done: set[str], halved: Collection[frozenset[str]]) -> list[Pack]:
    # the largest packs of it that were halved, each whole, and one of the other runs
    place = {config.identity: number for number, config in enumerate(piece.configs)}
    parts: list[set[str]] = []
    for runs in sorted(halved, key=len, reverse=True):
        if runs <= place.keys() and not runs <= done and runs.isdisjoint(chain(*parts)):
            parts.append(set(runs))
    if rest := place.keys() - done - {*chain(*parts)}:
        parts.append(rest)
    return [_only(piece, part) for part in sorted(parts, key=lambda part: min(place[run] for run in part))]


def _only(pack: Pack, runs: Collection[str]) -> Pack:
    kept = [(c, m) for c, m in zip(pack.configs, pack.methods, strict=True) if c.identity in runs]
    return Pack(tuple(c for c, _ in kept), tuple(m for _, m in kept))


def comparison(base: RunConfig, methods: Sequence[Named], seeds: int, noise_rate: float | None) -> list[RunConfig]:
    """Every method on every seed, otherwise alike; all settings are written out, so that none hides in a default."""
    complete = [told(method, noise_rate) for method in methods]
    codes = [code_of(build(method.name, method.settings)) for method in complete]
    return [
        replace(base, method=method, code=code, seed=seed)
        for method, code in zip(complete, codes, strict=True)
        for seed in range(seeds)
    ]
