"""A pack that does not fit in memory is trained in halves; a run that does not fit alone is left out, and named."""

import gc
from collections.abc import Sequence

import torch

from labelnoise.engine import checkpoint
from labelnoise.engine.checkpoint import Checkpointer
from labelnoise.engine.memory import is_shortage
from labelnoise.sweep.plan import Pack, halves
from labelnoise.sweep.room import memory, need
from labelnoise.sweep.run import Workplace, run_pack


def train_or_halve(pack: Pack, at: Workplace) -> None:
    """Train a pack to its end, as a whole or in halves, whichever memory allows."""
    journal = at.store.journal(pack.name)
    if not journal.halved and _trained(pack, at):
        return
    if len(pack.configs) == 1:
        at.display.give_up(0)
        at.display.warn(_too_large(pack, at))
        return
    parts = halves(pack)
    at.display.give_up(len(parts))
    if not journal.halved:
        _hand_down(pack, parts, at)
        journal.halve()
        sizes = " and ".join(str(len(half.configs)) for half in parts)
        name = f"{pack.configs[0].method.name} × {len(pack.configs)}"
        at.display.warn(f"{name} did not fit in memory: halved to {sizes} runs")
    for half in parts:
        if not _finished(half, at):
            train_or_halve(half, at)
    if _finished(pack, at):
        journal.forget()


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


def _hand_down(pack: Pack, parts: Sequence[Pack], at: Workplace) -> None:
    # Where the pack was saved, its halves go on; where there is no room for that, they begin anew.
    journal = at.store.journal(pack.name)
    try:
        if (saved := Checkpointer(journal.checkpoint).load()) is None:
            return
        for half, first in zip(parts, (0, len(parts[0].configs)), strict=True):
            own, runs = at.store.journal(half.name), range(first, first + len(half.configs))
            identities = {config.identity for config in half.configs}
            own.inherit([record for record in journal.read() if record.run in identities])
            checkpoint.save(own.checkpoint, *checkpoint.of_runs(*saved, runs))  # or end here: the pack's is still there
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise


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
