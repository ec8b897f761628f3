"""Softmax of normal logits, averaged over draws.

Kendall and Gal, What uncertainties do we need in Bayesian deep learning for computer vision?, NeurIPS 2017; Collier
et al., Correlated input-dependent label noise in large-scale image classification, CVPR 2021.
Fidelity: the mean over draws is a logsumexp, where public code clips mean probabilities and so stops learning below.
Inside, classes come first, (K, S, B): on a CPU a softmax over a short last axis takes four times as long.
"""

import math

import torch
from torch import Tensor

from labelnoise.losses.base import Loss, widened

CHUNK = 100  # draws at a time, which bounds the memory of a large evaluation batch


def sampled_log_probs(
    loc: Tensor, scale: Tensor, factors: Tensor, *, noise: Tensor, factor_noise: Tensor, temperature: float | Tensor
) -> Tensor:
    """log mean_s softmax((loc + scale·ε_s + factors @ ε'_s) / temperature), (B, K).

    loc and scale are (B, K), factors (B, K, R); `noise` holds ε as (S, B or 1, K), `factor_noise` ε' as (S, B or 1, R).
    """
    sums = [
        _noisy_logits(loc, scale, factors, (normals, factor_normals), temperature).softmax(0).sum(1)  # (K, B)
        for normals, factor_normals in zip(torch.split(noise, CHUNK), torch.split(factor_noise, CHUNK), strict=True)
    ]
    probs = torch.stack(sums).sum(0).T / noise.shape[0]  # nobody trains through a prediction: no need of log space
    return probs.clamp(min=torch.finfo(probs.dtype).tiny).log()


def heteroscedastic_nll(
    loc: Tensor,
    scale: Tensor,
    factors: Tensor,
    target: Tensor,
    *,
    noise: Tensor,
    factor_noise: Tensor,
    temperature: float | Tensor,
) -> Tensor:
    """Minus `sampled_log_probs` at the class indices of `target`, (B,)."""
    log_probs = _noisy_logits(loc, scale, factors, (noise, factor_noise), temperature).log_softmax(0)
    log_p = log_probs.gather(0, target.expand(1, len(noise), -1)).squeeze(0)  # (S, B)
    return math.log(len(noise)) - log_p.logsumexp(0)


class HeteroscedasticLoss(Loss):
    """The likelihood of a label whose logits are normal, estimated by fresh draws; for outputs (loc, scale, factors).

    >>> loc, scale, factors = torch.tensor([[2.0, -1.0]]), torch.full((1, 2), 1e-3), torch.zeros(1, 2, 0)
    >>> round(HeteroscedasticLoss(samples=100)((loc, scale, factors), torch.tensor([0])).item(), 2)
    0.05
    """

    def __init__(
        self,
        temperature: float = 1.0,
        samples: int = 1000,
        reduction: str = "mean",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(reduction)
        self.temperature = temperature
        self.samples = samples
        self.generator = generator

    def per_example(self, output: tuple[Tensor, Tensor, Tensor], target: Tensor) -> Tensor:
        """The loss of each example, (B,), from the law of its logits."""
        loc, scale, factors = (widened(part) for part in output)
        noise, factor_noise = (
            torch.randn(self.samples, len(loc), part.shape[-1], generator=self.generator).to(loc)
            for part in (loc, factors)
        )
        return heteroscedastic_nll(
            loc, scale, factors, target, noise=noise, factor_noise=factor_noise, temperature=self.temperature
        )


def _noisy_logits(
    loc: Tensor, scale: Tensor, factors: Tensor, noise: tuple[Tensor, Tensor], temperature: float | Tensor
) -> Tensor:
    loc, scale, factors = (widened(part) / temperature for part in (loc, scale, factors))
    normals, factor_normals = noise
    logits = torch.addcmul(loc.T[:, None], scale.T[:, None], normals.movedim(-1, 0).contiguous())  # (K, S, B)
    for factor, normal in zip(factors.unbind(-1), factor_normals.unbind(-1), strict=True):
        logits = torch.addcmul(logits, factor.T[:, None], normal)
    return logits
