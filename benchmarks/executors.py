"""How much faster runs train packed than as streams on this machine, and whether the right one is chosen.

    python benchmarks/executors.py [--net mlp@digits,lenet5@1x28x28] [--method ce] [--runs 2,18] [--batch 64]
                                   [--device cpu] [--rows 1797]

Three ways take turns by epochs, evaluation included: alone (trainings of one run, one after another), streams and
packed. Ratios are medians over neighbours; with `--threads 1` the clock is that of the process, so that they hold on a
busy machine as far as anything does. Otherwise each way has the threads that a comparison would give it. The last
column is how many times as long the chosen executor takes as the better one. On a GPU nothing is compiled.
"""

import gc
import time
from functools import cache
from itertools import product
from statistics import median

import click
import torch

from labelnoise.config import Named, RunConfig, Train
from labelnoise.data import Dataset, load
from labelnoise.engine import execution as executing
from labelnoise.engine.choosing import choose
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.loop import Training
from labelnoise.engine.observer import EpochResult
from labelnoise.heap import HEAP
from labelnoise.methods import build
from labelnoise.speed.blocks import EnoughError, wait_for
from labelnoise.speed.running import ready, run
from labelnoise.sweep.run import find_device, prepare, specify
from labelnoise.testing import Silent
from labelnoise.threads import threads as so_many

NETS = "mlp@digits,mlp_2000@2,lenet5@1x28x28,lenet5_same@digits,resnet32@digits"  # with their inputs
EPOCHS = 10_000  # more than are ever reached


class ByEpoch(Silent):
    """Leaves after each epoch."""

    def finished_epoch(self, result: EpochResult) -> None:
        """Leave."""
        raise EnoughError


@cache
def inputs(name: str, rows: int) -> Dataset:
    """The digits, or random numbers of a shape such as 1x28x28."""
    if name == "digits":
        return load(name, 0)
    x = torch.rand(rows, *map(int, name.split("x")), generator=torch.Generator().manual_seed(0))
    return Dataset.from_arrays(x, torch.arange(rows) % 10)


def config_of(net: str, method: str, batch: int) -> RunConfig:
    """One run of a network such as mlp:512+512."""
    name, _, widths = net.partition(":")
    named = Named(name, {"widths": widths.replace("+", ",")} if widths else {})
    return RunConfig(noise="none", method=Named(method), net=named, train=Train(epochs=EPOCHS, batch=batch))


def measured(
    config: RunConfig, data: Dataset, runs: int, device: torch.device, spend: float
) -> tuple[float, dict[str, float]]:
    """Seconds of an epoch of all runs packed, and how many times as long the other ways take."""
    gc.collect()  # a training and its executor know each other
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    asked = {"alone": ("streams", 1), **{name: (name, runs) for name in EXECUTORS}}
    trainings = {
        way: ready(config, count, name, data, device=device, watch=ByEpoch()) for way, (name, count) in asked.items()
    }

    def seconds(training: Training) -> float:
        wait_for(device)
        began = now()
        run(training)
        wait_for(device)
        return (now() - began) * runs / training.executor.runs

    for training in trainings.values():
        run(training)
    turns, until = [], time.perf_counter() + spend
    while len(turns) < 5 or time.perf_counter() < until:
        turns.append({way: seconds(training) for way, training in trainings.items()})
    times = {way: median(turn[way] / turn["packed"] for turn in turns) for way in trainings}
    return median(turn["packed"] for turn in turns), times


@click.command()
@click.option("--net", default=NETS, help="Networks with digits or the shape of their inputs.")
@click.option("--method", default="ce")
@click.option("--runs", default="2,3,8,18")
@click.option("--batch", default="32,64,128,256,512")
@click.option("--threads", default=0, help="At most; 0: all.")
@click.option("--spend", default=2.0, help="Seconds for each line.")
@click.option("--device", default="cpu")
@click.option("--rows", default=1797, help="Of random inputs.")
def main(*, net: str, method: str, runs: str, batch: str, threads: int, spend: float, device: str, rows: int) -> None:
    """Print one line for each combination, and the worst choice."""
    executing.WORTH_COMPILING = EPOCHS**2
    place = find_device(device)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads at most", flush=True)
    worst, most = 1.0, threads or torch.get_num_threads()
    counts, sizes = ([int(each) for each in given.split(",")] for given in (runs, batch))
    for name, way, count, size in product(net.split(","), method.split(","), counts, sizes):
        made, _, given = name.partition("@")
        config, data = config_of(made, way, size), inputs(given, rows)
        spec = specify(config, prepare(config, lambda _, data=data: data))
        with so_many(most), HEAP.kept():  # as in trainings of many epochs
            packed, times = measured(config, data, count, place, spend)
            chosen = choose(build(way), spec, count, place)
        loss = times[chosen] / min(times[executor] for executor in EXECUTORS)
        worst = max(worst, loss)
        print(
            f"{name:<18} {way:<16} {count:>3} runs, batch {size:<4} packed {1e3 * packed:8.2f} ms, "
            f"{times['streams']:5.2f} times as fast as streams, {times['alone']:5.2f} as alone; "
            f"chosen: {chosen:<7} {loss:.2f}",
            flush=True,
        )
    print(f"the chosen executor is at most {100 * (worst - 1):.0f} % slower than the better one")


if __name__ == "__main__":
    main()
