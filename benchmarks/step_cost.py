"""What a training step of a method costs, in steps of cross-entropy: one run on random images, the same batches.

    python benchmarks/step_cost.py [--net lenet5] [--batch 128] [--device cpu]

Methods take turns, and the ratio is of the fastest repeats, so that it holds on a busy machine. Only the last stage of
a method is measured: a warm-up is plain cross-entropy.
"""

import time
from functools import partial

import click
import torch

from labelnoise import nets
from labelnoise.config import Optimiser, Split, Train
from labelnoise.data import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import split
from labelnoise.engine.executors import Streams
from labelnoise.engine.loop import Position, Training
from labelnoise.methods import build
from labelnoise.methods.base import Method
from labelnoise.testing import Silent
from labelnoise.types import DataSpec

CASES = {
    "ce": ("ce", {}),
    "label_smoothing": ("label_smoothing", {}),
    "peer_loss, one forward": ("peer_loss", {}),
    "peer_loss, two forwards": ("peer_loss", {"separate": True}),
    "f_divergence, one forward": ("f_divergence", {"warm_up": 0.0}),
    "f_divergence, jeffrey": ("f_divergence", {"warm_up": 0.0, "divergence": "jeffrey"}),
    "f_divergence, two forwards": ("f_divergence", {"warm_up": 0.0, "separate": True}),
    "f_divergence, learnt": ("f_divergence", {"warm_up": 0.0, "learnt": True}),
    "forward": ("forward", {"matrix": "symmetric"}),
    "backward": ("backward", {"matrix": "symmetric"}),
    "dmi": ("dmi", {}),
    "logistic_normal": ("logistic_normal", {}),
    "reweight": ("reweight", {"matrix": "symmetric"}),
    "mentor_net": ("mentor_net", {}),
    "mentor_net, learnt": ("mentor_net", {"mentor": "learnt"}),
    "co_teaching": ("co_teaching", {}),
    "decoupling": ("decoupling", {}),
    "causal_nl": ("causal_nl", {}),
    "causal_nl, official": ("causal_nl", {"preset": "official"}),
}
ROWS, STEPS = 4096, 20


def ready(method: Method, net: str, shape: tuple[int, int, int], batch: int, device: str) -> Training:
    """A training that stands at the first step of its last stage."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (ROWS, *shape), generator=generator, dtype=torch.uint8)
    data = Dataset.from_arrays(pixels, torch.arange(ROWS) % 10)
    loader = Loader([Task(data, split(data, Split(), 0), 0)], device=device)
    spec = DataSpec(shape, 10, loader.samples, partial(nets.build, net, shape))
    runner = Streams([method], spec, [0], torch.zeros((), device=device))
    training = Training(runner, loader, spec, Train(epochs=10, batch=batch), observer=Silent())
    last = training.phases[-1]
    runner.enter(0, Optimiser())
    training.position = Position(last.number, last.first, 0)
    training.begin(last)
    return training


def seconds(training: Training, device: str) -> float:
    """Of some steps, the serving of their batches included."""
    last, size = training.phases[-1], training.train.batch
    served = training.loader.epoch(last.first, size, last.stage.method.peers)
    began = time.perf_counter()
    for step, (batch, peers) in zip(range(STEPS), served, strict=False):
        training.executor.step(batch, peers, {}, training.clock(last, step, STEPS))
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - began


@click.command()
@click.option("--net", default="lenet5")
@click.option("--batch", default=128)
@click.option("--repeats", default=15)
@click.option("--device", default="cpu")
def main(net: str, batch: int, repeats: int, device: str) -> None:
    """Print one line for each method."""
    shape = (1, 28, 28) if net.startswith("lenet") else (3, 32, 32)
    trainings = {case: ready(build(*method), net, shape, batch, device) for case, method in CASES.items()}
    best = dict.fromkeys(CASES, float("inf"))
    for _ in range(repeats):
        best = {case: min(least, seconds(trainings[case], device)) for case, least in best.items()}
    print(f"torch {torch.__version__}, {net}, batches of {batch} on {device}")
    for case, least in best.items():
        print(f"{case:<28} {1e3 * least / STEPS:7.2f} ms a step, {least / best['ce']:.2f} times ce")


if __name__ == "__main__":
    main()
