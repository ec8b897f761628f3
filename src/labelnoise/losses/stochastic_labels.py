"""Cross-entropy with labels that are disturbed by normal noise, anew at every step.

Chen et al., Noise against noise: stochastic label noise helps combat inherent label noise, ICLR 2021.
Fidelity: labels are neither clipped nor brought back to a sum of 1, as in the authors' code: the loss may be negative.
With gradient "tf" the gradient is p - ỹ, as TensorFlow's cross-entropy has it for any ỹ, though that is right only if ỹ
sums to 1. It disturbs every logit with variance σ²; the true one a class of probability p with σ² (1 - 2p + K p²).
"""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.losses.base import Loss, widened

Gradient = Literal["true", "tf"]


def stochastic_cross_entropy(
    logits: Tensor, target: Tensor, noise: Tensor, sigma: float | Tensor, gradient: Gradient = "true"
) -> Tensor:
    """-Σ ỹ_k log p_k of each example, (B,), where ỹ = y + σ·noise, for class indices (B,) or soft labels (B, K).

    With gradient "tf" it is logsumexp(a) - Σ ỹ_k a_k, of which p - ỹ is the gradient by the logits a.
    """
    a = widened(logits)
    label = target if target.ndim == a.ndim else F.one_hot(target, a.shape[-1])
    disturbed = label + sigma * noise.to(a.dtype)
    if gradient == "tf":
        return a.logsumexp(-1) - (disturbed * a).sum(-1)
    return -(disturbed * a.log_softmax(-1)).sum(-1)


class StochasticLabelLoss(Loss):
    """Cross-entropy with normal noise on every label, fresh at each call: confident networks feel it most.

    >>> logits, target = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([0])
    >>> round(StochasticLabelLoss(sigma=0.0)(logits, target).item(), 4)
    0.2413
    """

    def __init__(
        self,
        sigma: float = 0.5,
        gradient: Gradient = "true",
        reduction: str = "mean",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(reduction)
        check_settings(sigma, gradient)
        self.sigma, self.gradient, self.generator = sigma, gradient, generator

    def per_example(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each example, (B,), from logits (B, K)."""
        noise = torch.randn(output.shape, generator=self.generator).to(output.device)
        return stochastic_cross_entropy(output, target, noise, self.sigma, self.gradient)


def check_settings(sigma: float | Tensor, gradient: str) -> None:
    """Refuse what makes no loss; inside a pack sigma is a tensor, and was looked at before."""
    if not isinstance(sigma, Tensor) and sigma < 0:
        raise InputError(f"sigma must be at least 0, not {sigma}")
    if gradient not in get_args(Gradient):
        raise InputError(f"gradient must be true or tf, not {gradient!r}")
