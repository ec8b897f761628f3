from typing import NamedTuple

import numpy as np
import pytest

from labelnoise.auditing.evidence import Evidence


class World(NamedTuple):
    """Rows of which everything is known."""

    clean: np.ndarray  # (n, K) P(true | input)
    T: np.ndarray  # (K, K)
    true: np.ndarray  # (n,)
    given: np.ndarray  # (n,)

    @property
    def probs(self):
        """What a perfect model that learnt in spite of wrong labels says."""
        return self.clean.astype(np.float32)

    @property
    def noisy(self):
        """What a perfect model of the given labels says."""
        return (self.clean @ self.T).astype(np.float32)

    @property
    def wrong(self):
        return self.true != self.given

    @property
    def evidence(self):
        return Evidence(self.given, self.probs, tuple(f"class {k}" for k in range(len(self.T))))


def drawn(rng, probs):
    return (probs.cumsum(1) < rng.random(len(probs))[:, None] * probs.sum(1, keepdims=True)).sum(1)


def make_world(rows, T, sharpness, seed=0):
    """Inputs whose classes are `sharpness` times as clear as those of standard normal logits."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(rows, len(T)))
    clean = np.exp(logits - logits.max(1, keepdims=True))
    clean /= clean.sum(1, keepdims=True)
    true = drawn(rng, clean)
    return World(clean, T, true, drawn(rng, T[true]))


def symmetric(classes, rate):
    T = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return T


def paired(classes, rate):
    return (1 - rate) * np.eye(classes) + rate * np.roll(np.eye(classes), 1, axis=1)


@pytest.fixture(scope="session")
def worlds():
    """How to make a world: rows, T, sharpness, seed."""
    return make_world


@pytest.fixture(scope="session")
def channels():
    """Kinds of T: classes, rate."""
    return {"symmetric": symmetric, "paired": paired}


@pytest.fixture(scope="session", params=["symmetric", "paired"])
def world(request):
    T = symmetric(6, 0.2) if request.param == "symmetric" else paired(6, 0.2)
    return make_world(6000, T, sharpness=6)


@pytest.fixture(scope="session")
def small():
    """Few rows for facts that do not depend on their number."""
    return make_world(300, symmetric(4, 0.25), sharpness=5, seed=3)
