"""The losses against their naive forms: what one writes down from the paper, and lets autograd go through."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import LowRankMultivariateNormal
from torch.nn import functional as F

from labelnoise.losses.bi_tempered import bi_tempered
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.f_divergence import FDivergenceLoss
from labelnoise.losses.gce import gce
from labelnoise.losses.heteroscedastic import heteroscedastic_nll
from labelnoise.losses.label_logits import label_height
from labelnoise.losses.logistic_normal import logistic_normal_nll
from labelnoise.speed.blocks import in_turns
from labelnoise.speed.cases import Bench
from labelnoise.speed.figure import Figure

BATCH, CLASSES, SAMPLES = 1024, 100, 100
PASSES = 8  # that are timed together
Q, TAU, FLOOR, SMOOTHING, T1, T2, ITERATIONS = 0.7, 0.5, 0.5, 0.01, 0.7, 2.0, 20


class Inputs(NamedTuple):
    """What any of the losses may read."""

    mu: Tensor  # (B, K) logits
    c: Tensor  # (B, K) a second output
    y: Tensor  # (B,)
    noise: Tensor  # (S, B, K) standard normal


Kernel = Callable[[Inputs], Tensor]


def inputs(device: torch.device, batch: int = BATCH, classes: int = CLASSES, samples: int = SAMPLES) -> Inputs:
    """Random ones."""
    generator = torch.Generator().manual_seed(0)
    mu, c = (torch.randn(batch, classes, generator=generator).to(device).requires_grad_() for _ in range(2))
    y = torch.randint(classes, (batch,), generator=generator).to(device)
    return Inputs(mu, c, y, torch.randn(samples, batch, classes, generator=generator).to(device))


def _one_hot(given: Inputs) -> Tensor:
    return F.one_hot(given.y, given.mu.shape[-1]).to(given.mu.dtype)


def _naive_ce(given: Inputs) -> Tensor:
    return -(_one_hot(given) * given.mu.softmax(-1).clamp(min=1e-7).log()).sum(-1)


def _naive_gce(given: Inputs) -> Tensor:
    return (1 - (_one_hot(given) * given.mu.softmax(-1)).sum(-1).clamp(min=1e-7) ** Q) / Q


def _naive_logistic_normal(given: Inputs) -> Tensor:
    z = TAU * label_height(given.mu.shape[-1] + 1, SMOOTHING) * _one_hot(given)
    factor = (2 * FLOOR + given.c.square().sum(-1, keepdim=True)).sqrt() * given.c
    law: Any = LowRankMultivariateNormal(given.mu, factor.unsqueeze(-1), torch.full_like(given.mu, FLOOR**2))
    found: Tensor = -law.log_prob(z)
    return found


def _naive_f_divergence(given: Inputs) -> Tensor:
    joint = (_one_hot(given) * (given.mu.softmax(-1).tanh() / 2)).sum(-1)
    others = F.one_hot(given.y.roll(1, 0), given.mu.shape[-1]).to(given.mu.dtype)
    return (others * (given.mu.softmax(-1).tanh() / 2)).sum(-1) - joint


def _naive_bi_tempered(given: Inputs) -> Tensor:
    def exp_t(x: Tensor) -> Tensor:
        return (1 + (1 - T2) * x).clamp(min=0).pow(1 / (1 - T2))

    top = given.mu.amax(-1, keepdim=True)
    start = given.mu - top
    scaled = start
    for _ in range(ITERATIONS):
        scaled = start * exp_t(scaled).sum(-1, keepdim=True).pow(1 - T2)
    total = exp_t(scaled).sum(-1, keepdim=True)
    probs = exp_t(given.mu - top + ((1 / total).pow(1 - T2) - 1) / (1 - T2))
    own = (_one_hot(given) * probs).sum(-1)
    return -(own.pow(1 - T1) - 1) / (1 - T1) - (1 - probs.pow(2 - T1).sum(-1)) / (2 - T1)


def _naive_heteroscedastic(given: Inputs) -> Tensor:
    probs = (given.mu + F.softplus(given.c) * given.noise).softmax(-1).mean(0)
    return -(_one_hot(given) * probs).sum(-1).log()


def _heteroscedastic(given: Inputs) -> Tensor:
    nothing = given.mu.new_zeros(*given.mu.shape, 0), given.noise.new_zeros(*given.noise.shape[:2], 0)
    normals = {"noise": given.noise, "factor_noise": nothing[1]}
    return heteroscedastic_nll(given.mu, F.softplus(given.c), nothing[0], given.y, temperature=1.0, **normals)


KERNELS: Mapping[str, tuple[Kernel, Kernel]] = {  # ours, naive: equal up to a constant
    "ce": (lambda given: cross_entropy(given.mu, given.y), _naive_ce),
    "gce": (lambda given: gce(given.mu, given.y, Q), _naive_gce),
    "logistic_normal": (
        lambda given: logistic_normal_nll(given.mu, given.c, given.y, tau=TAU, lam=FLOOR, smoothing=SMOOTHING),
        _naive_logistic_normal,
    ),
    "f_divergence": (lambda given: FDivergenceLoss().per_example(given.mu, given.y), _naive_f_divergence),
    "bi_tempered": (lambda given: bi_tempered(given.mu, given.y, T1, T2), _naive_bi_tempered),
    "heteroscedastic": (_heteroscedastic, _naive_heteroscedastic),
}


def passes(kernel: Kernel, given: Inputs) -> tuple[Tensor, ...]:
    """Forward and backward."""
    return torch.autograd.grad(kernel(given).mean(), (given.mu, given.c), allow_unused=True)


def measure(bench: Bench) -> Iterator[Figure]:
    """Microseconds of each loss, forward and backward, and how many times as long its naive form takes."""
    given = inputs(bench.device)
    shape = f"{BATCH} × {CLASSES} logits"
    for name, pair in KERNELS.items():
        ours, naive = in_turns([partial(_often, kernel, given) for kernel in pair], bench.device, bench.seconds)
        note = f"{shape}, {SAMPLES} draws" if name == "heteroscedastic" else shape
        yield Figure(name, 1e6 * ours / PASSES, "µs", {"as fast as the naive form": naive / ours}, note=note)


def _often(kernel: Kernel, given: Inputs) -> None:
    for _ in range(PASSES):
        passes(kernel, given)
