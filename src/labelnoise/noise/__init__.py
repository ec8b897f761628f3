"""Label noise: transition matrices, given labels drawn by them or by the inputs, and the notation of noises."""

from labelnoise.noise.annotators import annotate, annotators, vote, voted
from labelnoise.noise.corrupt import corrupt
from labelnoise.noise.flip import Details, flip
from labelnoise.noise.grammar import NOISES, parse
from labelnoise.noise.instance import expected_rate, instance_dependent, score_dependent
from labelnoise.noise.kinds import Noise
from labelnoise.noise.matrix import (
    TransitionMatrix,
    asymmetric,
    identity,
    pair,
    random_redraw,
    sparse_pairs,
    symmetric,
    uniform_off_diagonal,
)
from labelnoise.noise.open_set import open_set, scrambled
from labelnoise.noise.provenance import Provenance, load_corrupted, save_corrupted
from labelnoise.noise.published import CIFAR10_MAP, DIGIT_MAP
from labelnoise.noise.published_instance import published_instance

__all__ = [
    "CIFAR10_MAP",
    "DIGIT_MAP",
    "NOISES",
    "Details",
    "Noise",
    "Provenance",
    "TransitionMatrix",
    "annotate",
    "annotators",
    "asymmetric",
    "corrupt",
    "expected_rate",
    "flip",
    "identity",
    "instance_dependent",
    "load_corrupted",
    "open_set",
    "pair",
    "parse",
    "published_instance",
    "random_redraw",
    "save_corrupted",
    "score_dependent",
    "scrambled",
    "sparse_pairs",
    "symmetric",
    "uniform_off_diagonal",
    "vote",
    "voted",
]
