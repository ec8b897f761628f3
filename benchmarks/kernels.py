"""What a step's time goes to: the kernels of a case of `labelnoise speed`, by torch's profiler.

    python benchmarks/kernels.py [--net lenet5] [--method ce] [--runs 45] [--executor packed] [--top 12]
                                 [--compiler KEY=VALUE]

Prints, of one step with all runs, the time by the clock, that of all kernels and how many they are, and those that take
the most, with their share and how often they are called. Kernels of several runs overlap, so they may add up to more
than the clock says. Of a GPU also how long all would take if their blocks, by threads, registers and shared memory, lay
side by side without a gap: less is not possible, however many runs share it. With `--compiler` settings of torch's
compiler can be tried, such as `epilogue_fusion=false`; those that engine/compiling.py makes stay as they are.
"""

import json
import time
from collections.abc import Mapping
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import torch
import yaml
from torch._inductor import config as inductor
from torch.profiler import ProfilerActivity, profile

from labelnoise.config import Named
from labelnoise.speed.blocks import Blocks, EnoughError, wait_for
from labelnoise.speed.cases import CASES, Bench
from labelnoise.speed.running import chosen, ready, run

WARM, STEPS = 30, 20
REGISTERS, MOST_BLOCKS = 65_536, 32  # of a multiprocessor
RESERVED = 1024  # bytes of shared memory that each block takes besides its own


class Profiled(Blocks):
    """An observer that lets steps warm up, times some, profiles as many, and leaves."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device, 0.0)
        kind = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
        self.profile, self.steps, self.began, self.step = profile(activities=[kind]), 0, 0.0, 0.0

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Begin, go on or leave."""
        self.steps += 1
        if self.steps in {WARM, WARM + STEPS, WARM + 2 * STEPS}:
            wait_for(self.device)
        if self.steps == WARM:
            self.began = time.perf_counter()
        elif self.steps == WARM + STEPS:
            self.step = (time.perf_counter() - self.began) / STEPS
            self.profile.start()
        elif self.steps == WARM + 2 * STEPS:
            self.profile.stop()
            raise EnoughError


def side_by_side(profiled: profile, device: torch.device) -> float:
    """Milliseconds of one step in which the kernels would be done if they left no room on the device."""
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    spent: float = sum(each["dur"] * filled(each["args"], device) for each in kernels)
    return spent / STEPS / 1e3


def filled(kernel: Mapping[str, Any], device: torch.device) -> float:
    """The share of a device that a kernel's blocks take."""
    gpu, threads = torch.cuda.get_device_properties(device), prod(kernel["block"])
    each = (  # how many blocks a multiprocessor has room for
        gpu.max_threads_per_multi_processor // threads,
        REGISTERS // max(1, kernel["registers per thread"] * threads),
        gpu.shared_memory_per_multiprocessor // (kernel["shared memory"] + RESERVED),
        MOST_BLOCKS,
    )
    share: float = prod(kernel["grid"]) / (gpu.multi_processor_count * max(1, min(each)))
    return min(1.0, share)


@click.command()
@click.option("--net", default="lenet5", type=click.Choice(list(CASES)))
@click.option("--method", default="ce")
@click.option("--runs", default=0, help="0: as many as `labelnoise speed` has.")
@click.option("--executor", default="", help="By default the one that is chosen.")
@click.option("--top", default=12)
@click.option("--compiler", metavar="KEY=VALUE", multiple=True, help="A setting of torch's compiler.")
@click.option("--device", default="auto")
def main(*, net: str, method: str, runs: int, executor: str, top: int, compiler: tuple[str, ...], device: str) -> None:
    """Print one line for each kernel."""
    bench, named = Bench.on(device), Named(method)
    for key, _, value in (setting.partition("=") for setting in compiler):
        setattr(inductor, key, yaml.safe_load(value))
    case = bench.fitted(CASES[net])
    runs = runs or case.runs
    executor = executor or chosen(case, named, runs, bench)
    watch = Profiled(bench.device)
    run(ready(case.config(named), runs, executor, bench.images(case), device=bench.device, watch=watch))
    on_gpu = bench.device.type == "cuda"
    kernels = watch.profile.key_averages()
    taken = {each.key: each.self_device_time_total if on_gpu else each.self_cpu_time_total for each in kernels}
    total, calls = sum(taken.values()), sum(each.count for each in kernels if taken[each.key])  # others are the host's
    print(", ".join([net, method, executor, f"{runs} runs, batches of {case.batch}", *compiler]))
    spent = f"{total / STEPS / 1e3:.2f} ms of {calls / STEPS:.0f} kernels"
    print(f"{1e3 * watch.step:.2f} ms by the clock, {spent} in one step")
    if on_gpu:
        print(f"{side_by_side(watch.profile, bench.device):.2f} ms if they lay side by side without a gap")
    for each in sorted(kernels, key=lambda each: taken[each.key], reverse=True)[:top]:
        share = f"{100 * taken[each.key] / total:4.1f} %  {taken[each.key] / STEPS:8.1f} us"
        print(f"{share}  {each.count / STEPS:6.1f} calls  {each.key[:90]}")


if __name__ == "__main__":
    main()
