"""A pack that does not fit in memory is trained in halves; a run that does not fit alone is left out, and named."""

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labelnoise.engine import checkpoint
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.memory import is_shortage
from labelnoise.sweep.plan import Pack, halves
from labelnoise.sweep.room import memory, need
from labelnoise.sweep.run import Workplace, run_pack


def train_or_halve(pack: Pack, at: Workplace) -> None:
    """Train a pack to its end, as a whole or in halves, whichever memory allows."""
    if not at.store.journal(pack.name).halved:
        if _trained(pack, at):
            return
        if len(pack.configs) == 1:
            at.display.give_up(0)
            at.display.warn(_too_large(pack, at))
            return
        halve(pack, at, "did not fit in memory")
    train_halves(pack, at, train_or_halve)


def halve(pack: Pack, at: Workplace, why: str) -> None:
    """Give a pack up for its halves, also when the command is typed again."""
    at.store.journal(pack.name).halve([config.identity for config in pack.configs])
    sizes = " and ".join(str(len(half.configs)) for half in halves(pack))
    at.display.warn(f"{pack.configs[0].method.name} × {len(pack.configs)} {why}: halved to {sizes} runs")


def train_halves(pack: Pack, at: Workplace, train: Callable[[Pack, Workplace], None]) -> None:
    """Train those halves of a pack that are left."""
    left = left_of(pack, at)
    at.display.give_up(len(left))
    for half in left:
        train(half, at)


def left_of(pack: Pack, at: Workplace) -> list[Pack]:
    """The halves of a pack that are not finished; where it was saved they go on."""
    _hand_down(pack, at)
    return [half for half in halves(pack) if not _finished(half, at)]


def _trained(pack: Pack, at: Workplace) -> bool:
    # False where memory is short; the error, whose traceback holds all that was in it, is gone before it is freed
    try:
        run_pack(pack, at)
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
    else:
        return True
    gc.collect()
    if at.device.type == "cuda":
        torch.cuda.empty_cache()
    return at.store.journal(pack.name).finished  # it may have been short after that


def _hand_down(pack: Pack, at: Workplace) -> None:
    # Where memory is too short for that, they begin anew. Broken off it is done again: what the pack saved goes last.
    journal = at.store.journal(pack.name)
    try:
        if (saved := Checkpointer(journal.checkpoint).load()) is not None:
            _share_out(pack, saved, at)
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
    journal.clear()


def _share_out(pack: Pack, saved: tuple[dict[str, Tensor], dict[str, Any]], at: Workplace) -> None:
    records, parts = at.store.journal(pack.name).read(), halves(pack)
    for half, first in zip(parts, (0, len(parts[0].configs)), strict=True):
        own, runs = at.store.journal(half.name), range(first, first + len(half.configs))
        if own.finished:  # by another command
            continue
        identities = {config.identity for config in half.configs}
        own.inherit([record for record in records if record.run in identities])
        checkpoint.save(own.checkpoint, *checkpoint.of_runs(*saved, runs))


def _finished(pack: Pack, at: Workplace) -> bool:
    return {config.identity for config in pack.configs} <= at.store.runs().keys()


def _too_large(pack: Pack, at: Workplace) -> str:
    (config,), place = pack.configs, "the CPU" if at.device.type == "cpu" else str(at.device)
    try:
        guess = f"about {_size(need(pack, at).total)} for itself"
    except (RuntimeError, MemoryError):
        guess = "more than there is"
    return (
        f"{config.method.name}, seed {config.seed}: it does not fit in memory, for it needs {guess}, and {place} has "
        f"{_size(memory(at.device))} for all; this run is missing: use a smaller train.batch, or another --device"
    )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 / 10 else f"{count / 2**20:.1f} MiB"
