"""Softmax of normal logits, averaged over draws.

Kendall and Gal, What uncertainties do we need in Bayesian deep learning for computer vision?, NeurIPS 2017; Collier
et al., Correlated input-dependent label noise in large-scale image classification, CVPR 2021.
Fidelity: the mean over draws is a logsumexp, where public code clips mean probabilities and so stops learning below.
"""

from functools import reduce

import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, widened
from labelnoise.losses.monte_carlo import monte_carlo_nll
from labelnoise.losses.noisy_logits import Law, chunks, noisy_logits


def sampled_log_probs(
    loc: Tensor, scale: Tensor, factors: Tensor, *, noise: Tensor, factor_noise: Tensor, temperature: float | Tensor
) -> Tensor:
    """log mean_s softmax((loc + scale·ε_s + factors @ ε'_s) / temperature), (B, K).

    loc and scale are (B, K), factors (B, K, R); `noise` holds ε as (S, B or 1, K), `factor_noise` ε' as (S, B or 1, R).
    """
    law, normals = _tempered(loc, scale, factors, temperature), (noise, factor_noise)
    sums = (noisy_logits(law, some).softmax(0).sum(1) for some in chunks(law, normals))  # (K, B) each
    probs = reduce(torch.add, sums).T / noise.shape[0]  # nobody trains through a prediction: no need of log space
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
    """Minus `sampled_log_probs` at the class indices of `target`, (B,), in memory that does not grow with the draws."""
    return monte_carlo_nll(_tempered(loc, scale, factors, temperature), target, (noise, factor_noise))


def check_settings(temperature: float | Tensor, samples: int) -> None:
    """Refuse what makes no loss; inside a pack the temperature is a tensor, and was looked at before."""
    if not isinstance(temperature, Tensor) and not temperature > 0:
        raise InputError(f"temperature must be above 0, not {temperature}")
    if samples < 1:
        raise InputError(f"samples must be at least 1, not {samples}")


class HeteroscedasticLoss(Loss):
    """The likelihood of a label whose logits are normal, estimated by fresh draws; for outputs (loc, scale, factors).

    With `shared` all examples of a batch have the same draws, and S·B·K numbers fewer are drawn.

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
        *,
        shared: bool = False,
    ) -> None:
        super().__init__(reduction)
        check_settings(temperature, samples)
        self.temperature = temperature
        self.samples = samples
        self.generator = generator
        self.shared = shared

    def per_example(self, output: tuple[Tensor, Tensor, Tensor], target: Tensor) -> Tensor:
        """The loss of each example, (B,), from the law of its logits."""
        loc, scale, factors = (widened(part) for part in output)
        size, source = (self.samples, 1 if self.shared else len(loc)), self.generator
        noise, factor_noise = (torch.randn(*size, part.shape[-1], generator=source).to(loc) for part in (loc, factors))
        return monte_carlo_nll(_tempered(loc, scale, factors, self.temperature), target, (noise, factor_noise))


def _tempered(loc: Tensor, scale: Tensor, factors: Tensor, temperature: float | Tensor) -> Law:
    return widened(loc) / temperature, widened(scale) / temperature, widened(factors) / temperature
