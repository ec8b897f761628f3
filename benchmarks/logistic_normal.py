"""The Logistic-Normal loss against torch's low-rank normal: time and memory of one forward and backward pass.

    python benchmarks/logistic_normal.py [--batch 1024] [--threads 2] [--device cpu]

Both take turns, and the ratio is of the fastest repeats, so that it holds on a busy machine. Memory is what lives
at the same time beyond mu, c and the labels, in floats per logit (BK): the two gradients alone are 2.
"""

import time
from collections.abc import Callable
from typing import Any

import click
import torch
from torch import Tensor
from torch.distributions import LowRankMultivariateNormal
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.functional import one_hot
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labelnoise.losses import label_height, logistic_normal_nll

TAU, FLOOR, SMOOTHING = 0.5, 0.5, 0.01
Step = Callable[[Tensor, Tensor, Tensor], Tensor]


def ours(mu: Tensor, c: Tensor, y: Tensor) -> Tensor:
    return logistic_normal_nll(mu, c, y, tau=TAU, lam=FLOOR, smoothing=SMOOTHING)


def theirs(mu: Tensor, c: Tensor, y: Tensor) -> Tensor:
    classes = mu.shape[-1]
    z = TAU * label_height(classes + 1, SMOOTHING) * one_hot(y, classes).to(mu.dtype)
    factor = (2 * FLOOR + c.square().sum(-1, keepdim=True)).sqrt() * c
    law = LowRankMultivariateNormal(mu, factor.unsqueeze(-1), torch.full_like(mu, FLOOR**2))
    return -law.log_prob(z)


class Living(TorchDispatchMode):
    """Adds up the storages that are alive after each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and (storage := leaf.untyped_storage())._cdata not in given:
                self.storages[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.storages = {key: each for key, each in self.storages.items() if not each[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self.storages.values()))
        return result


def passes(loss: Step, mu: Tensor, c: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss(mu, c, y).mean(), (mu, c))


def seconds(loss: Step, given: tuple[Tensor, Tensor, Tensor]) -> float:
    began = time.perf_counter()
    passes(loss, *given)
    if given[0].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began


def memory(loss: Step, given: tuple[Tensor, Tensor, Tensor]) -> float:
    with Living() as living:
        passes(loss, *given)
    return living.peak / (4 * given[0].numel())


@click.command()
@click.option("--batch", default=1024)
@click.option("--threads", default=2)
@click.option("--repeats", default=200)
@click.option("--device", default="cpu")
def main(batch: int, threads: int, repeats: int, device: str) -> None:
    """Print one line for each number of classes."""
    torch.set_num_threads(threads)
    print(f"torch {torch.__version__}, {threads} threads, batches of {batch} in float32 on {device}")
    losses = {"ours": ours, "torch.distributions": theirs}
    for classes in (10, 100, 1000):
        y = torch.randint(classes, (batch,), device=device)
        given = (*(torch.randn(batch, classes, device=device, requires_grad=True) for _ in range(2)), y)
        for mine, other in zip(passes(ours, *given), passes(theirs, *given), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5)
        best = dict.fromkeys(losses, float("inf"))
        for _ in range(repeats):
            best = {name: min(least, seconds(losses[name], given)) for name, least in best.items()}
        told = ", ".join(
            f"{name} {1e3 * best[name]:.2f} ms and {memory(losses[name], given):.2f} BK" for name in losses
        )
        print(f"{classes:>5} classes: {told}: {best['torch.distributions'] / best['ours']:.1f} times as fast")


if __name__ == "__main__":
    main()
