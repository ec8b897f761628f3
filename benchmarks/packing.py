"""How much faster runs train packed than one after the other: whole trainings on digits, evaluation included.

    python benchmarks/packing.py [--epochs 3] [--repeats 8]

Both executors train the same runs in turn; the ratio is of the fastest repeats, so that it holds on a busy machine.
"""

import time
from functools import partial

import click
import torch

from labelnoise.config import Named, RunConfig, Train
from labelnoise.data import load
from labelnoise.data.loader import Loader
from labelnoise.engine.executors import EXECUTORS, choose
from labelnoise.engine.loop import Training
from labelnoise.methods import build
from labelnoise.sweep.run import prepare, specify
from labelnoise.testing import Silent

DIGITS = partial(load, "digits")
CASES = [("ce", "mlp", 8), ("ce", "mlp", 18), ("gce", "mlp", 18), ("co_teaching", "mlp", 18), ("ce", "lenet5_same", 4)]


def seconds(executor: str, method: str, net: str, runs: int, train: Train) -> float:
    """Of one training, without what comes before its first step."""
    configs = [RunConfig(method=Named(method), net=Named(net), train=train, seed=seed) for seed in range(runs)]
    tasks = [prepare(config, DIGITS) for config in configs]
    spec = specify(configs[0], tasks[0])
    loader = Loader(tasks)
    runner = EXECUTORS[executor]([build(method)] * runs, spec, loader.seeds, torch.zeros(()))
    training = Training(runner, loader, spec, train, observer=Silent())
    began = time.perf_counter()
    training.run()
    return time.perf_counter() - began


@click.command()
@click.option("--epochs", default=3)
@click.option("--repeats", default=8)
def main(epochs: int, repeats: int) -> None:
    """Print one line per case."""
    train = Train(epochs=epochs)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, batch {train.batch}, {epochs} epochs")
    for method, net, runs in CASES:
        timed = {name: float("inf") for name in EXECUTORS}
        for _ in range(repeats):
            timed = {name: min(best, seconds(name, method, net, runs, train)) for name, best in timed.items()}
        config = RunConfig(net=Named(net))
        chosen = choose(specify(config, prepare(config, DIGITS)).net(10), runs, train.batch, torch.device("cpu"))
        ratio = timed["streams"] / timed["packed"]
        figures = "  ".join(f"{name} {1e3 * value:7.0f} ms" for name, value in timed.items())
        print(f"{method:<12} {net:<9} {runs:>3} runs  {figures}  packed is {ratio:.2f} times as fast; chosen: {chosen}")


if __name__ == "__main__":
    main()
