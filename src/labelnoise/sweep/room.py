"""How many runs have room on a device, by an estimate of what one needs and by what was measured to pay."""

import os
from pathlib import Path

import torch

from labelnoise.data.loader import Task
from labelnoise.data.split import split
from labelnoise.engine.choosing import choose
from labelnoise.engine.evaluate import most_at_once
from labelnoise.engine.memory import Need, is_shortage, needed
from labelnoise.sweep.plan import Pack, most_that_fit
from labelnoise.sweep.run import Workplace, specify

USABLE = 0.8  # of all the memory there is, free or not: a command that is typed again must plan the same packs
SIDE_BY_SIDE = {"streams": 16, "packed": 64}  # runs of one pack on a GPU, by what is chosen; more gain nothing
LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


def most_runs(pack: Pack, at: Workplace) -> int:
    """How many of a pack's runs may be trained together."""
    config, runs = pack.configs[0], len(pack.configs)
    if runs == 1:
        return 1
    task = _unspoilt(pack, at)
    usual = choose(pack.methods[0], specify(config, task), runs, at.device)  # also where another is asked for
    limit = SIDE_BY_SIDE[usual] if at.device.type == "cuda" else runs
    try:
        each = need(pack, at).total
    except (RuntimeError, MemoryError) as problem:
        if is_shortage(problem):
            return 1
        raise
    inputs = task.dataset.x.nbytes if isinstance(task.dataset.x, torch.Tensor) else 0  # of images on disk none is held
    return most_that_fit(each, int(USABLE * at.share * memory(at.device)) - inputs, limit)


def need(pack: Pack, at: Workplace) -> Need:
    """What one run of a pack needs."""
    config = pack.configs[0]
    spec = specify(config, _unspoilt(pack, at))
    return needed(pack.methods[0], spec, config.train, most_at_once(1, spec.shape, at.device))


def memory(device: torch.device) -> int:
    """Bytes of memory that a device has in all."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = LIMIT.read_text().strip() if LIMIT.is_file() else ""
    return min(installed, int(limit)) if limit.isdecimal() else installed


def _unspoilt(pack: Pack, at: Workplace) -> Task:
    # the data of the first run, but for their noise, on which nothing depends here
    config = pack.configs[0]
    dataset = at.build(config.seed)
    return Task(dataset, split(dataset, config.split, config.seed), config.seed)
