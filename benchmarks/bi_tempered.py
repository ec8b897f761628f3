"""How much faster the bi-tempered loss with its implicit gradient is than autograd through the authors' iterations.

    python benchmarks/bi_tempered.py [--batch 1024] [--repeats 20]

Forward and backward; the two take turns, and the ratio is of the fastest repeats, so that it holds on a busy machine.
Beside it stands how far the probabilities of each miss 1.
"""

import time
from collections.abc import Callable

import click
import torch
from torch import Tensor

from labelnoise.losses.bi_tempered import bi_tempered
from labelnoise.losses.tempered import tempered_log_softmax

T1 = 0.7
ITERATIONS = 20


def exp_t(x: Tensor, t: float) -> Tensor:
    return (1 + (1 - t) * x).clamp(min=0).pow(1 / (1 - t))


def log_t(x: Tensor, t: float) -> Tensor:
    return (x.pow(1 - t) - 1) / (1 - t)


def plain_probs(logits: Tensor, t2: float) -> Tensor:
    top = logits.amax(-1, keepdim=True)
    start = logits - top
    scaled = start
    for _ in range(ITERATIONS):
        scaled = start * exp_t(scaled, t2).sum(-1, keepdim=True).pow(1 - t2)
    normaliser = top - log_t(1 / exp_t(scaled, t2).sum(-1, keepdim=True), t2)
    return exp_t(logits - normaliser, t2)


def plain(logits: Tensor, target: Tensor, t2: float) -> Tensor:
    """The loss as it is written down, for autograd to go through."""
    probs = plain_probs(logits, t2)
    own = probs.gather(1, target[:, None]).squeeze(1)
    return -log_t(own, T1) - (1 - probs.pow(2 - T1).sum(-1)) / (2 - T1)


def seconds(loss: Callable[[Tensor], Tensor], logits: Tensor) -> float:
    began = time.perf_counter()
    torch.autograd.grad(loss(logits).mean(), logits)
    return time.perf_counter() - began


@click.command()
@click.option("--batch", default=1024)
@click.option("--repeats", default=20)
def main(batch: int, repeats: int) -> None:
    """Print one line for each size."""
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, batch {batch}, t1 {T1}")
    for classes in (10, 100, 1000):
        for t2 in (1.1, 2.0, 4.0):
            generator = torch.Generator().manual_seed(0)
            logits = (5 * torch.randn(batch, classes, generator=generator)).requires_grad_()
            target = torch.randint(classes, (batch,), generator=generator)
            losses = {
                "ours": lambda x, y=target, t2=t2: bi_tempered(x, y, T1, t2),
                "plain": lambda x, y=target, t2=t2: plain(x, y, t2),
            }
            best = dict.fromkeys(losses, float("inf"))
            for _ in range(repeats):
                best = {name: min(least, seconds(losses[name], logits)) for name, least in best.items()}
            with torch.no_grad():
                probs = {"ours": tempered_log_softmax(logits, t2).exp(), "plain": plain_probs(logits, t2)}
            off = {name: (each.sum(-1) - 1).abs().max().item() for name, each in probs.items()}
            figures = "  ".join(f"{name} {1e3 * best[name]:7.2f} ms, off {off[name]:.0e}" for name in losses)
            print(f"K {classes:>4}, t2 {t2}:  {figures}  {best['plain'] / best['ours']:.1f} times as fast")


if __name__ == "__main__":
    main()
