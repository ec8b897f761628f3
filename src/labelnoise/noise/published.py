"""Noise as papers have published it, as data: class maps of asymmetric noise, matrices of sparse and uniform noise.

Wei & Liu 2021 say of sparse and uniform noise what share of labels is wrong, about; the label files that they released
hold other noise, and heavier, on MNIST and Fashion-MNIST. `stated` is the former, `released` the latter.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from labelnoise.data.standard.cifar_classes import CIFAR100_SUPERCLASS
from labelnoise.errors import InputError
from labelnoise.noise.matrix import TransitionMatrix, sparse_pairs, symmetric, uniform_off_diagonal
from labelnoise.rng import uniforms

Level = Literal["low", "high"]
Source = Literal["released", "stated"]
Map = Mapping[int, int]  # true class -> the class it is mistaken for

SAME_CLASSES = {"cifar10n": "cifar10", "cifar100n": "cifar100"}
SAME_FILES = {**SAME_CLASSES, "fashion_mnist": "mnist"}  # one noise was released for both

DIGIT_MAP = {7: 1, 2: 7, 5: 6, 6: 5, 3: 8}  # Patrini et al. 2017
CIFAR10_MAP = {9: 1, 2: 0, 3: 5, 5: 3, 4: 7}  # truck, bird, cat, dog, deer; Patrini et al. 2017


def _next_inside(groups: list[list[int]]) -> Map:
    return {label: group[(i + 1) % len(group)] for group in groups for i, label in enumerate(group)}


# By family and name; the first of a family is the usual one.
MAPS: Mapping[str, Mapping[str, Map]] = {
    "digits": {"patrini": DIGIT_MAP},
    "mnist": {"patrini": DIGIT_MAP},
    "cifar10": {
        "patrini": CIFAR10_MAP,  # also the code of Englesson et al. 2023
        "englesson_text": {true: given for true, given in CIFAR10_MAP.items() if true != 9},  # their text, no truck
        "dmi": {9: 1, 2: 0, 3: 5, 4: 7},  # Xu et al. 2019: dogs stay dogs
    },
    "cifar100": {
        "next": {label: (label + 1) % 100 for label in range(100)},  # Englesson et al. 2023, across superclasses
        "patrini": _next_inside([list(range(start, start + 5)) for start in range(0, 100, 5)]),  # of label numbers
        "superclass": _next_inside(
            [[fine for fine in range(100) if CIFAR100_SUPERCLASS[fine] == coarse] for coarse in range(20)]
        ),
    },
}
FIRST_TO_SECOND = {"first": {0: 1}}  # of any data set with two classes; Lukasik et al. 2020, Figure 5

DIGIT_PAIRS = ((0, 1), (2, 3), (4, 8), (7, 5), (9, 6))
CIFAR100_PAIRS = (  # class, class, how often the first is mistaken for the second and the second for the first
    "0-17 .052 .778, 1-41 .050 .770, 2-33 .056 .762, 3-28 .086 .698, 4-43 .680 .170, 5-7 .128 .638, 6-30 .156 .662, "
    "8-58 .144 .688, 9-83 .654 .158, 10-99 .108 .696, 11-97 .136 .626, 12-23 .184 .628, 13-47 .130 .664, "
    "14-36 .674 .162, 15-18 .754 .040, 16-62 .598 .208, 19-42 .738 .054, 20-34 .048 .756, 21-90 .114 .718, "
    "22-79 .710 .102, 24-45 .642 .182, 25-29 .090 .704, 26-53 .680 .100, 27-49 .044 .730, 31-98 .188 .618, "
    "32-74 .614 .188, 35-89 .738 .048, 37-95 .042 .746, 38-76 .606 .198, 39-73 .174 .636, 40-63 .746 .058, "
    "44-56 .660 .160, 46-70 .038 .734, 48-66 .068 .752, 50-52 .650 .150, 51-61 .670 .148, 54-69 .094 .706, "
    "55-78 .096 .710, 57-93 .132 .696, 59-81 .630 .192, 60-71 .622 .204, 64-72 .168 .654, 65-92 .750 .046, "
    "67-68 .606 .214, 75-94 .602 .210, 77-84 .090 .690, 80-85 .044 .748, 82-88 .648 .152, 86-87 .654 .124, "
    "91-96 .684 .120"
)


def class_map(dataset: str, classes: int, name: str = "") -> tuple[str, Map]:
    """The map of asymmetric noise for a data set, by default the usual one, with its name."""
    family = SAME_CLASSES.get(dataset, dataset)
    maps = MAPS.get(family, FIRST_TO_SECOND if classes == 2 else {})
    if not maps:
        raise InputError(
            f"asymmetric noise has no class map for {dataset or 'these data'}, only for two classes and for "
            f"{', '.join([*MAPS, *SAME_CLASSES])}; use pair or matrix"
        )
    if name and name not in maps:
        raise InputError(f"asymmetric noise for {dataset or 'two classes'} has no map {name!r}, only {', '.join(maps)}")
    chosen = name or next(iter(maps))
    return chosen, maps[chosen]


def sparse(dataset: str, classes: int, level: Level, source: Source) -> TransitionMatrix:
    """Sparse noise of Wei & Liu 2021; see the module."""
    if source == "stated":
        pairs = _random_pairs(classes) if _one_level(dataset, level, "high") else None
        return sparse_pairs(classes, *{"low": (0.3, 0.1), "high": (0.6, 0.2)}[level], pairs)
    return _released("sparse", dataset, level)()


def uniform(dataset: str, classes: int, level: Level, source: Source) -> TransitionMatrix:
    """Uniform noise of Wei & Liu 2021; see the module."""
    if source == "stated":
        one = _one_level(dataset, level, "low")
        return symmetric(classes, 0.25 if one else {"low": 0.2, "high": 0.55}[level])
    return _released("uniform", dataset, level)()


def is_released(kind: str, dataset: str, level: str) -> bool:
    """Whether there is a label file of this noise."""
    return (kind, SAME_FILES.get(dataset, dataset), level) in RELEASED


def drawn_exactly(kind: str, dataset: str) -> bool:
    """Whether released labels have exact counts; the others were drawn row by row."""
    family = SAME_FILES.get(dataset, dataset)
    return family == "mnist" or (kind == "uniform" and family == "cifar10")


def _one_level(dataset: str, level: Level, only: Level) -> bool:
    # CIFAR-100 has one level of each noise in the paper
    if SAME_CLASSES.get(dataset, dataset) != "cifar100":
        return False
    if level != only:
        raise InputError(f"on {dataset} the paper has this noise at one level, {only}, not {level}; use {only}")
    return True


def _released(kind: str, dataset: str, level: str) -> Callable[[], TransitionMatrix]:
    family = SAME_FILES.get(dataset, dataset)
    if (kind, family, level) not in RELEASED:
        known = sorted({f"{kind}:{each} of {name}" for what, name, each in RELEASED if what == kind})
        raise InputError(
            f"no labels with noise {kind}:{level} were released for {dataset or 'these data'}, "
            f"only {', '.join(known)}; use {kind}:{level}:stated"
        )
    return RELEASED[kind, family, level]


def _cifar100_sparse() -> TransitionMatrix:
    total = np.eye(100)
    for entry in CIFAR100_PAIRS.split(", "):
        classes, forth, back = entry.split()
        i, j = map(int, classes.split("-"))
        total[i, [i, j]], total[j, [j, i]] = (1 - float(forth), float(forth)), (1 - float(back), float(back))
    return TransitionMatrix.from_rows(total)


def _cifar100_uniform() -> TransitionMatrix:
    # The 100 numbers are not known, only that they spread evenly over 0 to 0.005 and sum to 0.2473.
    spread = uniforms(100, "cifar100-uniform")
    return uniform_off_diagonal((0.2473 * spread / spread.sum()).tolist())


def _random_pairs(classes: int) -> list[tuple[int, int]]:
    order = np.argsort(uniforms(classes, "sparse-pairs"), kind="stable").tolist()
    return list(zip(order[::2], order[1::2], strict=True))


RELEASED: Mapping[tuple[str, str, str], Callable[[], TransitionMatrix]] = {
    ("sparse", "cifar10", "low"): lambda: sparse_pairs(10, 0.3, 0.1),
    ("sparse", "cifar10", "high"): lambda: sparse_pairs(10, 0.6, 0.2),
    ("sparse", "mnist", "low"): lambda: sparse_pairs(10, 0.3, 0.2, DIGIT_PAIRS),
    ("sparse", "mnist", "high"): lambda: sparse_pairs(10, 0.7, 0.2, DIGIT_PAIRS),
    ("sparse", "cifar100", "high"): _cifar100_sparse,
    ("uniform", "cifar10", "low"): lambda: uniform_off_diagonal(
        (0.020, 0.030, 0.010, 0.023, 0.017, 0.022, 0.021, 0.018, 0.019, 0.020)
    ),
    ("uniform", "cifar10", "high"): lambda: uniform_off_diagonal(
        (0.05, 0.07, 0.04, 0.05, 0.06, 0.04, 0.06, 0.07, 0.08, 0.07)
    ),
    ("uniform", "mnist", "low"): lambda: uniform_off_diagonal(
        (0.050, 0.045, 0.047, 0.055, 0.053, 0.022, 0.068, 0.054, 0.056, 0.020)
    ),
    ("uniform", "mnist", "high"): lambda: uniform_off_diagonal(
        (0.080, 0.075, 0.090, 0.085, 0.070, 0.082, 0.077, 0.091, 0.092, 0.080)
    ),
    ("uniform", "cifar100", "low"): _cifar100_uniform,
}
