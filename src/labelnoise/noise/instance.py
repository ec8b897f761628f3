"""Noise that depends on the input: part-dependent noise of Xia et al., and a rate that rises along a direction."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.noise.flip import Details, Draws, Labels, finished, labels, pick
from labelnoise.noise.matrix import check_rate
from labelnoise.rng import normals, uniforms
from labelnoise.threads import threads
from labelnoise.types import Array

SPREAD = 0.1  # standard deviation of the rates over rows
STEEPNESS = 4.0  # of a rate along the score, per standard deviation
CHUNK = 2**18  # numbers of inputs that are made doubles at once, 2 MiB: they stay in a cache

Features = Literal["raw", "centred"]
Weigh = Callable[[NDArray[Any]], NDArray[np.float64]]  # rows of one class -> (n, K) weights of wrong labels
Weights = Callable[[int], Weigh]  # by true class


@overload
def instance_dependent(
    x: Array, y: Tensor, rate: float, *, classes: int, seed: int, features: Features = "raw"
) -> Tensor: ...
@overload
def instance_dependent(
    x: Array, y: Labels, rate: float, *, classes: int, seed: int, features: Features = "raw"
) -> Labels: ...
@overload
def instance_dependent(
    x: Array, y: Tensor, rate: float, *, classes: int, seed: int, features: Features = "raw", details: Literal[True]
) -> tuple[Tensor, Details]: ...
@overload
def instance_dependent(
    x: Array, y: Labels, rate: float, *, classes: int, seed: int, features: Features = "raw", details: Literal[True]
) -> tuple[Labels, Details]: ...
def instance_dependent(
    x: Array, y: Array, rate: float, *, classes: int, seed: int, features: Features = "raw", details: bool = False
) -> Any:
    """Part-dependent noise: each row has a rate of its own, and its input decides which wrong label it may get.

    q_i ~ N(rate, 0.1²) cut to [0, 1];  P(wrong) = q_i;  P(j | wrong, x_i, y_i = c) = softmax_{j ≠ c}(x_i W_c), with one
    random matrix W_c per true class. Xia et al. 2020, "Part-dependent label noise"; Yao et al. 2021 use it throughout.

    Inputs count as they are, pixels from 0 to 255, as in published code: most rows of a class then share one wrong
    label, since brightness outweighs everything else. `features="centred"` subtracts the mean input first, which makes
    noise depend on the instance much more. With two classes there is only one wrong label, and noise does not depend on
    x at all. The mean rate is `expected_rate(rate)`, above `rate` where that is small.
    """
    check_rate(rate)
    if features not in get_args(Features):
        raise InputError(f"features must be raw or centred, not {features!r}")
    true = labels(y, classes)
    inputs, draws = flat(x, len(true)), Draws.of(len(true), seed)
    with threads(1):
        rates, weights = row_rates(rate, len(true), seed), _projection(inputs, classes, seed, features == "centred")
        drawn = _draw(true, rates, weights, draws, classes=classes, width=inputs.shape[1], details=details)
    return finished(y, *drawn)


@overload
def score_dependent(x: Array, y: Tensor, rate: float, *, classes: int, seed: int) -> Tensor: ...
@overload
def score_dependent(x: Array, y: Labels, rate: float, *, classes: int, seed: int) -> Labels: ...
@overload
def score_dependent(
    x: Array, y: Tensor, rate: float, *, classes: int, seed: int, details: Literal[True]
) -> tuple[Tensor, Details]: ...
@overload
def score_dependent(
    x: Array, y: Labels, rate: float, *, classes: int, seed: int, details: Literal[True]
) -> tuple[Labels, Details]: ...
def score_dependent(x: Array, y: Array, rate: float, *, classes: int, seed: int, details: bool = False) -> Any:
    """Noise whose rate rises along a random direction of the inputs; it depends on x with two classes as well.

    P(wrong | x_i) = (K - 1) / K σ(4 z_i + b), where z_i is the score x_i · w brought to mean 0 and deviation 1 over all
    rows, and b makes the mean over all rows `rate`. Every wrong class is equally likely, and none likelier than the
    true one anywhere, so that the best classifier of given labels is that of true ones.
    """
    true, most = labels(y, classes), (classes - 1) / classes
    check_rate(rate, most)
    rates = most * _rising(_score(flat(x, len(true)), seed), rate / most)
    draws = Draws.of(len(true), seed)
    return finished(y, *_draw(true, rates, _equal(classes), draws, classes=classes, width=1, details=details))


def row_rates(rate: float, rows: int, seed: int) -> NDArray[np.float64]:
    """Each row's probability of a wrong label, (N,): normal around `rate`, cut to [0, 1]; at rate 0 none is wrong."""
    return cut_normal(rate, uniforms(rows, seed, "noise-rate"))


def cut_normal(rate: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rates from a normal law around `rate`, cut to [0, 1], by uniform numbers; all 0 where `rate` is."""
    if rate == 0:
        return np.zeros(len(draws))
    low, high = (torch.special.ndtr(torch.tensor((edge - rate) / SPREAD, dtype=torch.float64)) for edge in (0.0, 1.0))
    share = low + torch.from_numpy(draws) * (high - low)
    return np.asarray((rate + SPREAD * torch.special.ndtri(share)).clamp(0, 1).numpy(), dtype=np.float64)


def expected_rate(rate: float) -> float:
    """The mean of part-dependent noise's rates: 0.2055 for 0.2, since none can be negative."""
    if rate == 0:
        return 0.0
    a, b = -rate / SPREAD, (1 - rate) / SPREAD
    density = np.exp(-0.5 * np.array([a, b]) ** 2) / np.sqrt(2 * np.pi)
    low, high = torch.special.ndtr(torch.tensor([a, b], dtype=torch.float64)).tolist()
    return float(rate + SPREAD * (density[0] - density[1]) / (high - low))


def _draw(
    y: Labels, rates: NDArray[np.float64], weights_of: Weights, draws: Draws, *, classes: int, width: int, details: bool
) -> tuple[Labels, NDArray[np.float64] | None]:
    # A loop over classes only; without details, rows that stay right need no probabilities.
    given, P = y.copy(), np.zeros((len(y), classes)) if details else None
    wrong = draws.coin < rates
    for true in range(classes):
        rows = np.flatnonzero((y == true) & (details | wrong))
        if not len(rows):
            continue
        weigh = weights_of(true)
        for some in _chunks(rows, max(1, CHUNK // max(classes, width))):
            weights = weigh(some)
            changed = wrong[some]
            given[some[changed]] = pick(weights[changed], draws.target[some[changed]])
            if P is not None:
                P[some] = weights / weights.sum(1, keepdims=True) * rates[some, None]
                P[some, true] = 1 - rates[some]
    return given, P


def _projection(x: Tensor, classes: int, seed: int, centred: bool) -> Weights:
    middle = _middle(x) if centred else torch.zeros(x.shape[1], dtype=torch.float64)

    def weights_of(true: int) -> Weigh:
        W = normals(x.shape[1] * classes, seed, "noise-projection", true).reshape(x.shape[1], classes)
        offset = -(middle @ W)
        offset[true] = -torch.inf

        def weigh(rows: NDArray[Any]) -> NDArray[np.float64]:
            scores = torch.addmm(offset, x.index_select(0, torch.from_numpy(rows)).double(), W)  # (n, K)
            return np.asarray(scores.softmax(1).numpy(), dtype=np.float64)

        return weigh

    return weights_of


def _equal(classes: int) -> Weights:
    def weights_of(true: int) -> Weigh:
        others = np.where(np.arange(classes) == true, 0.0, 1.0)
        return lambda rows: np.broadcast_to(others, (len(rows), classes))

    return weights_of


def _middle(x: Tensor) -> Tensor:
    # The mean input as multiples of 1/256, so that pixels minus it have few bits too.
    total = torch.zeros(x.shape[1], dtype=torch.float64)
    for some in _blocks(x):
        total += some.double().sum(0)
    return (total / len(x) * 256).round() / 256


def _score(x: Tensor, seed: int) -> Tensor:
    direction = normals(x.shape[1], seed, "noise-direction")
    score = torch.cat([some.double() @ direction for some in _blocks(x)])
    return (score - score.mean()) / score.std(correction=0).clamp_min(torch.finfo(torch.float64).tiny)


def _rising(score: Tensor, rate: float) -> NDArray[np.float64]:
    # The offset lies where all rates are below, or above, the wanted mean; halved until doubles end.
    if rate == 0:
        return np.zeros(len(score))
    middle, reach = torch.logit(torch.tensor(rate, dtype=torch.float64)), STEEPNESS * score.abs().max()
    low, high = middle - reach, middle + reach
    for _ in range(100):
        offset = (low + high) / 2
        low, high = (low, offset) if torch.sigmoid(STEEPNESS * score + offset).mean() > rate else (offset, high)
    return np.asarray(torch.sigmoid(STEEPNESS * score + high).numpy(), dtype=np.float64)


def _blocks(x: Tensor) -> Iterator[Tensor]:
    size = max(1, CHUNK // x.shape[1])
    return (x[start : start + size] for start in range(0, len(x), size))


def _chunks(rows: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def flat(x: Array, rows: int) -> Tensor:
    """Inputs as a matrix that has been checked, a row for each label."""
    tensor = x.cpu() if isinstance(x, Tensor) else torch.from_numpy(np.ascontiguousarray(x))
    if tensor.ndim < 2 or len(tensor) != rows:
        raise InputError(f"x must have one row for each of the {rows} labels, not shape {tuple(tensor.shape)}")
    flat = tensor.flatten(1)
    if flat.is_floating_point() and not (finite := flat.isfinite().all(1)).all():
        raise InputError(f"x holds NaN or infinity in row {int(finite.int().argmin())}; drop the row or fill it in")
    return flat
