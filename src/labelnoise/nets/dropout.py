"""Dropout whose masks are declared draws, so that a run has the same ones alone or packed, resumed or not."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labelnoise.errors import InputError

LOW = 0xFFFFFFFF  # the low 32 bits


class Window(NamedTuple):
    """Which rows of a batch a network is given, where several share it: `own` ones from `first` on, of `rows`."""

    first: int
    own: int
    rows: int


class Dropout(nn.Module):
    """Zeroes each element with probability `rate` and divides the others by 1 - rate; in eval mode does nothing.

    `seed` is None in one's own loop, where torch's generator draws the mask. The engine puts a 0-d int64 tensor there
    at each step, and the mask is a hash of it. All forward passes of one step share the mask, which leaves every
    gradient unbiased. In a `window` of a batch rows have the masks that they have in the whole of it.
    """

    seed: Tensor | None
    window: Window | None = None

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise InputError(f"the dropout rate must be at least 0 and below 1, not {rate}")
        self.rate = rate
        self.register_buffer("seed", None, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x with some elements zeroed and the rest enlarged, of the same mean."""
        if not self.training:
            return x
        if self.seed is None:
            return F.dropout(x, self.rate)
        keep = self._words(self.seed, x).reshape(x.shape) >= round(self.rate * 2**32)
        return x * keep / (1 - self.rate)

    def _words(self, seed: Tensor, x: Tensor) -> Tensor:
        if self.window is None:
            return random_words(seed, x.numel())
        first, own, rows = self.window
        width = x.numel() // len(x)
        begins = ((block * rows + first) * width for block in range(len(x) // own))  # x may have the rows several times
        return torch.cat([random_words(seed, own * width, begin) for begin in begins])

    def extra_repr(self) -> str:
        """The rate, for printing."""
        return f"rate={self.rate}"


def random_words(seed: Tensor, n: int, first: int = 0) -> Tensor:
    """n words of 32 bits in int64 from word `first` on, (n,); word i depends on all 64 bits of the 0-d seed and i."""
    low, high = seed & LOW, (seed >> 32) & LOW
    key = _mix(_mix(low) ^ high)  # without it a neighbouring seed would give the same words one place further
    counter = torch.arange(first, first + n, device=seed.device) + low
    return _mix((_mix(counter & LOW) + key) & LOW)


def _mix(word: Tensor) -> Tensor:
    """Wellons' lowbias32, a permutation of the 32-bit words in which every input bit moves every output bit."""
    word = word ^ (word >> 16)
    word = (word * 0x7FEB352D) & LOW
    word = word ^ (word >> 15)
    word = (word * (0x846CA68B - 2**32)) & LOW  # the same modulo 2**32, and no product leaves int64
    return word ^ (word >> 16)
