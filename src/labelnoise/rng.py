"""Randomness is an argument: (run seed, purpose, counters) name a stream.

A stream is found by hashing its name, never by what was drawn before, so a run draws the same numbers alone or packed,
resumed or not, and nothing of a generator's inside needs to be saved.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from threading import RLock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Key = int | str
_ALONE = RLock()


def hashed(*key: Key) -> int:
    """63 bits that depend on every part of the key."""
    plain = tuple(part if isinstance(part, str) else index(part) for part in key)  # numpy's integers print otherwise
    digest = hashlib.blake2b(repr(plain).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Rng:
    """A named stream of random tensors; costs nothing until the first draw."""

    def __init__(self, *key: Key, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self.key = key
        self.device = torch.device(device)
        self.dtype = dtype
        self._generator: torch.Generator | None = None
        self._numpy: np.random.Generator | None = None

    @property
    def generator(self) -> torch.Generator:
        """The torch generator behind this stream."""
        if self._generator is None:
            self._generator = torch.Generator(self.device).manual_seed(hashed(*self.key))
        return self._generator

    def normal(self, *size: int) -> Tensor:
        """Standard normal draws."""
        return torch.randn(size, generator=self.generator, device=self.device, dtype=self.dtype)

    def uniform(self, *size: int) -> Tensor:
        """Uniform draws on [0, 1)."""
        return torch.rand(size, generator=self.generator, device=self.device, dtype=self.dtype)

    def integers(self, high: int, *size: int) -> Tensor:
        """Whole numbers from 0 to high - 1."""
        return torch.randint(high, size, generator=self.generator, device=self.device)

    def permutation(self, n: int) -> Tensor:
        """The numbers 0 to n - 1 in random order."""
        return torch.randperm(n, generator=self.generator, device=self.device)

    def beta(self, a: float, b: float) -> Tensor:
        """One draw from Beta(a, b); torch has no seeded one, numpy has."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.Philox(hashed(*self.key, "numpy")))
        return torch.full((), self._numpy.beta(a, b), device=self.device, dtype=self.dtype)


def uniforms(n: int, *key: Key) -> NDArray[np.float64]:
    """n doubles on [0, 1): the same on every platform and numpy version, and entry i depends on the key and i alone.

    Raw words of the Philox counter generator are scaled by hand, since numpy promises stable words, not stable doubles.
    """
    words = np.random.Philox(key=hashed(*key)).random_raw(n)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def normals(n: int, *key: Key) -> Tensor:
    """n standard normal doubles, the same on every platform, as multiples of 2⁻²⁰.

    So few bits make sums of their products with 8-bit pixels exact, in whatever order they are added up.
    """
    words = torch.from_numpy(uniforms(n, *key)) + 2.0**-54  # never 0
    drawn: Tensor = torch.special.ndtri(words)
    return drawn.mul_(2.0**20).round_().div_(2.0**20)


@contextmanager
def seeded_init(*key: Key) -> Iterator[None]:
    """Weights made inside follow the stream of this name; torch's own generator is left as it was.

    That is one for all threads, so that others who make weights wait.
    """
    with _ALONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(hashed(*key))
        yield
