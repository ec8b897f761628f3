"""Packs trained by the processes of `torchrun`: the first one leads, and all others do as it does.

The first process runs the job as if it were alone. Whenever it trains a pack it says so, and the others train the same
pack with the same code, into a folder that is thrown away. So nothing is written, shown or decided twice.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch

from labelnoise.config import RunConfig
from labelnoise.data.dataset import Builder
from labelnoise.engine import ranks
from labelnoise.engine.execution import Execution
from labelnoise.engine.interrupt import InterruptError
from labelnoise.engine.memory import is_shortage
from labelnoise.errors import InputError
from labelnoise.files import write
from labelnoise.methods import build as build_method
from labelnoise.results.store import Store
from labelnoise.sweep.halving import train_halves, train_or_halve
from labelnoise.sweep.plan import Pack
from labelnoise.sweep.run import Display, Workplace, find_device, run_pack

SMALLER = "use a larger train.accumulate, or fewer seeds"
LOST = "another process of this training has ended; type the same command again to go on"
_underway: list[Pack] = []  # what all processes are at work on: none hears anything else before it is done


class Wish(NamedTuple):
    """A pack that all processes are to train."""

    configs: tuple[RunConfig, ...]
    execution: Execution
    checkpoint: bytes | None  # where the training was left; folders need not be seen by all


@contextmanager
def joined(device: str) -> Iterator[str]:
    """Inside, the processes of `torchrun` train together; gives the device of this one. Alone, nothing happens."""
    if ranks.started() == 1:
        yield device
        return
    place = _own_device(device)
    with ranks.group(place):
        try:
            yield str(place)
        except Exception:
            if ranks.rank() == 0 and not _underway:
                with suppress(RuntimeError):
                    _part()
            raise
        try:
            _part()
        except RuntimeError as problem:
            if not ranks.is_loss(problem):
                raise
            raise _lost() from None


def _part() -> None:
    if ranks.rank() == 0:
        ranks.told()  # that is all
    ranks.meet()  # who left early would cut off the others


def train_pack(pack: Pack, at: Workplace) -> None:
    """Train a pack to its end, with all processes there are; one alone may halve it."""
    if ranks.count() == 1:
        train_or_halve(pack, at)
    elif at.store.journal(pack.name).halved:  # as one process has left it
        train_halves(pack, at, train_pack)
    else:
        _lead(pack, at)


def _lead(pack: Pack, at: Workplace) -> None:
    try:
        left = at.store.journal(pack.name).checkpoint
        ranks.told(Wish(pack.configs, at.execution, left.read_bytes() if left.exists() else None))
        _underway.append(pack)
        run_pack(pack, at)
        _underway.clear()
    except (RuntimeError, MemoryError) as problem:
        if is_shortage(problem):
            name = pack.configs[0].method.name
            raise InputError(f"{name} does not fit in memory; {SMALLER}") from None
        if not ranks.is_loss(problem):
            raise
        raise _lost() from None


def _lost() -> SystemExit:
    # Said where it is found, while signals are only noted: `torchrun` ends this process next, and one that was killed
    # says nothing.
    sys.stderr.write(f"process {ranks.rank()}: {LOST}\n")
    return SystemExit(1)


def follow(build: Builder, device: str) -> None:
    """Train what the first process trains, until it has no more."""
    with ranks.interrupt() as interrupt:
        try:
            while (wish := ranks.told()) is not None:
                with TemporaryDirectory() as folder:
                    place = Workplace(
                        Store(Path(folder)), build, torch.device(device), wish.execution, Display(), interrupt
                    )
                    _train(wish, place)
        except InterruptError as problem:
            raise SystemExit(128 + problem.number) from None
        except InputError as problem:
            sys.stderr.write(f"process {ranks.rank()}: {problem}\n")
            raise SystemExit(2) from None
        except (RuntimeError, MemoryError) as problem:
            if is_shortage(problem):
                sys.stderr.write(f"process {ranks.rank()}: the training does not fit in memory; {SMALLER}\n")
                raise SystemExit(2) from None
            if not ranks.is_loss(problem):
                raise
            raise _lost() from None


def _train(wish: Wish, at: Workplace) -> None:
    methods = (build_method(config.method.name, config.method.settings) for config in wish.configs)
    pack = Pack(wish.configs, tuple(methods))
    if wish.checkpoint is not None:
        path = at.store.journal(pack.name).checkpoint
        path.parent.mkdir(parents=True)
        write(path, wish.checkpoint)
    run_pack(pack, at)


def _own_device(name: str) -> torch.device:
    device = find_device(name)
    if device.type == "cpu":
        return device
    if name not in ("auto", "cuda"):
        raise InputError(f"each process of torchrun has a GPU of its own, so --device cannot be {name}; leave it out")
    number = int(os.environ.get("LOCAL_RANK", "0"))
    if number >= torch.cuda.device_count():
        raise InputError(f"there are {torch.cuda.device_count()} GPUs for more processes; start one process for each")
    torch.cuda.set_device(number)
    return torch.device("cuda", number)
