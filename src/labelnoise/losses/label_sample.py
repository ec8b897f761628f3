"""Labels as a random quantity through which gradients pass: soft, one-hot, or every class in turn.

Jang, Gu and Poole, Categorical reparameterization with Gumbel-softmax, ICLR 2017; Yao et al., Instance-dependent
label-noise learning under a structural causal model, NeurIPS 2021.
Fidelity: the latter says that labels are one-hot, its authors' code draws soft ones at temperature 1.
"""

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from labelnoise.losses.base import log_softmax, widened

LabelMode = Literal["gumbel_soft", "gumbel_st", "softmax", "enumerate"]


class LabelSample(NamedTuple):
    """M rows of labels for B examples: M is B, or K · B with the examples of the first class first."""

    label: Tensor  # (M, K), rows sum to 1
    weight: Tensor  # (M,), of all rows of an example they sum to 1


def gumbel_softmax(logits: Tensor, uniforms: Tensor, tau: float = 1.0, hard: bool = False) -> Tensor:
    """softmax((logits + g) / tau), (B, K), with g = -log(-log u); hard: one-hot, with the gradient of the soft one.

    >>> drawn = gumbel_softmax(torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.5, 0.2, 0.9]]))
    >>> [round(p, 4) for p in drawn[0].tolist()]
    [0.4881, 0.0773, 0.4346]
    """
    u = widened(uniforms)
    noise = -(-u.clamp(min=torch.finfo(u.dtype).tiny).log()).log()
    soft = ((widened(logits) + noise) / tau).softmax(-1)
    if not hard:
        return soft
    one_hot = F.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return one_hot + (soft - soft.detach())  # the bracket is 0, and brings the derivative


def every_label(classes: int, like: Tensor) -> Tensor:
    """Each class for each row of `like` (B, ...) as one-hot labels (K · B, K), those of the first class first."""
    return torch.eye(classes, dtype=like.dtype, device=like.device).repeat_interleave(len(like), 0)


def matched(values: Tensor, label: Tensor) -> Tensor:
    """The rows of `values` (B, ...) that belong to those of `label` (M, K): all of them, M / B times over."""
    times = len(label) // len(values)
    return values if times == 1 else values.repeat(times, *(1 for _ in values.shape[1:]))


def sampled_label(logits: Tensor, uniforms: Tensor, mode: LabelMode, tau: float = 1.0) -> LabelSample:
    """Labels drawn from softmax(logits); enumerate gives all of them with their probabilities, an exact expectation."""
    probs = log_softmax(logits).exp()
    if mode == "enumerate":
        return LabelSample(every_label(logits.shape[-1], probs), probs.mT.flatten())
    label = probs if mode == "softmax" else gumbel_softmax(logits, uniforms, tau, hard=mode == "gumbel_st")
    return LabelSample(label, torch.ones_like(label[..., 0]))
