"""From nothing to the first step: a process of its own, from its start to the end of a training's first step."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import torch

from labelnoise.config import Named
from labelnoise.engine.memory import is_shortage
from labelnoise.errors import InputError
from labelnoise.speed.blocks import Blocks, EnoughError
from labelnoise.speed.cases import CASES, Bench
from labelnoise.speed.figure import Figure
from labelnoise.speed.running import ready, run

CHILD = "import sys; from labelnoise.speed.start import first_step; first_step(sys.argv[1], int(sys.argv[2]))"


class Once(Blocks):
    """Leaves after the first step."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Wait for the device, and leave."""
        self._moment()
        raise EnoughError


def first_step(device: str, rows: int) -> None:
    """One step of packed runs of LeNet-5."""
    bench = Bench(torch.device(device), 0.0, rows)
    case, watch = bench.fitted(CASES["lenet5"]), Once(bench.device, 0.0)
    run(ready(case.config(Named("ce")), case.runs, "packed", bench.images(case), device=bench.device, watch=watch))


def measure(bench: Bench) -> Iterator[Figure]:
    """Seconds, the first time and with whatever the first time left in caches."""
    runs = bench.fitted(CASES["lenet5"]).runs
    for name, key in (("first", ""), ("again, caches warm", "again")):
        taken = _seconds([str(bench.device), str(bench.rows)])
        yield Figure(name, taken, "s", key=key, note=f"{runs} runs, a process of its own")


def _seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        told = f"a process that was to make a first step has failed: {last}"
        short = done.returncode == -signal.SIGKILL or "MemoryError" in last  # the system kills where memory is short
        raise MemoryError(told) if short or is_shortage(RuntimeError(done.stderr)) else InputError(told)
    return time.perf_counter() - began
