"""The terms of an evidence bound over a hidden true label y and a hidden cause z of the input, each of one example.

log P(x, given) is at least
  E log P(x | y, z) + E log P(given | y, x) - KL(q(y | x), uniform) - E KL(q(z | y, x), N(0, 1)).
Yao et al., Instance-dependent label-noise learning under a structural causal model, NeurIPS 2021.
Fidelity: all terms are to be made small; the paper prints the last one with the wrong sign. `constant` and `sample` are
what the authors' first and second code have in place of the entropy: the first has no gradient.
"""

import math
from typing import Literal

import torch
from torch import Tensor

from labelnoise.losses.base import log_softmax, widened

Distance = Literal["l1", "mse"]
LabelPrior = Literal["softmax", "constant", "sample"]


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance), N(0, 1)) over independent coordinates: (B, J) -> (B,).

    >>> round(gaussian_kl(torch.tensor([[0.5, -1.0]]), torch.tensor([[0.0, math.log(0.25)]])).item(), 6)
    0.943147
    """
    mean, log_variance = widened(mean), widened(log_variance)
    return (mean.square() + log_variance.expm1() - log_variance).sum(-1) / 2


def reparametrised(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    """A draw from N(mean, variance), made of noise from N(0, 1); gradients pass to both."""
    return mean + (log_variance / 2).exp() * noise


def reconstruction_error(guess: Tensor, x: Tensor, distance: Distance = "l1") -> Tensor:
    """Mean absolute or squared difference over all numbers of an input: (B, ...) -> (B,)."""
    off = (widened(guess) - widened(x)).flatten(1)
    return (off.abs() if distance == "l1" else off.square()).mean(-1)


def label_prior(logits: Tensor, sample: Tensor, form: LabelPrior = "softmax") -> Tensor:
    """Σ q log q, (B,), which is KL(q, uniform) - log K: of q = softmax(logits), or of the label drawn from it.

    "constant" is -log K, the cross-entropy of the uniform law with whatever sums to 1.
    """
    if form == "softmax":
        log_q = log_softmax(logits)
        return (log_q.exp() * log_q).sum(-1)
    if form == "constant":
        return torch.full_like(widened(logits)[..., 0], -math.log(logits.shape[-1]))
    q = widened(sample)
    return (q * q.clamp(min=torch.finfo(q.dtype).tiny).log()).sum(-1)
