"""Label noise: transition matrices, and labels flipped by them."""

from labelnoise.noise.apply import NOISES, Noise, corrupt, flip, parse
from labelnoise.noise.matrix import (
    CIFAR10_MAP,
    DIGIT_MAP,
    TransitionMatrix,
    asymmetric,
    identity,
    pair,
    random_redraw,
    symmetric,
)

__all__ = [
    "CIFAR10_MAP",
    "DIGIT_MAP",
    "NOISES",
    "Noise",
    "TransitionMatrix",
    "asymmetric",
    "corrupt",
    "flip",
    "identity",
    "pair",
    "parse",
    "random_redraw",
    "symmetric",
]
