"""Logits that are normal, drawn some at a time; classes come first, (K, S, B).

On a CPU a softmax over a short last axis takes four times as long.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

NUMBERS = 2**18  # logits at a time on a CPU, as many as its caches hold
MORE = 2**22  # elsewhere: calls of few take longer than their work, and a compiler reads each of them

Law = tuple[Tensor, Tensor, Tensor]  # loc and scale (B, K), factors (B, K, R)
Normals = tuple[Tensor, Tensor]  # for scale (S, B or 1, K), for factors (S, B or 1, R)


def noisy_logits(law: Law, normals: Normals) -> Tensor:
    """loc + scale·ε + factors @ ε', (K, S, B)."""
    (loc, scale, factors), (noise, factor_noise) = law, normals
    logits = torch.addcmul(loc.T[:, None], scale.T[:, None], noise.movedim(-1, 0).contiguous())
    for factor, normal in zip(factors.unbind(-1), factor_noise.unbind(-1), strict=True):
        logits = torch.addcmul(logits, factor.T[:, None], normal)
    return logits


def chunks(law: Law, normals: Normals) -> Iterator[Normals]:
    """The draws, so many at a time that their logits are no more than these, or one by one."""
    size = max(1, (NUMBERS if law[0].is_cpu else MORE) // law[0].numel())
    return zip(*(torch.split(each, size) for each in normals), strict=True)
