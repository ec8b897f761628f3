"""Several scores into one probability that a label is wrong, with weights learnt from planted flips.

Planted flips are wrong for certain, but the user's own labels are not right for certain: a share `rate` of them is
wrong too. If u is the probability that a label with these scores is wrong, flips have them
u / rate times as often as labels do. So of a row out of `rows` labels and `flips` flips together

    P(it is a flip | scores) = flips · u / rate / (flips · u / rate + rows),    u = σ(weights · scores + bias)

which is maximised over weights and bias, starting from the posterior alone and kept near it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit

KEPT = 5.0  # flips' worth of belief in the posterior alone
BINS = 20
SHARED = 0.5  # of what margins say, as much is taken to be news
FAR = 60.0  # logits further away are certainties


@dataclass(frozen=True)
class Weights:
    """A line through the scores, of which the first is the logit of the posterior."""

    weights: NDArray[np.float64]  # (d,)
    bias: float

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the probability that the label is wrong, (n,) from features (n, d)."""
        logits: NDArray[np.float64] = np.clip(features @ self.weights + self.bias, -FAR, FAR)
        return logits


def learn_weights(features: NDArray[np.float64], flips: NDArray[np.float64], rate: float) -> Weights:
    """From features of labels as they are, and of planted flips."""
    middle, width = features.mean(0), features.std(0) + 1e-9
    start = np.zeros(len(middle) + 1)
    start[0], start[-1] = width[0], middle[0]
    if not len(flips) or rate <= 0:
        return _unscaled(start, middle, width)
    labels, planted = _with_one(features, middle, width), _with_one(flips, middle, width)
    excess = len(flips) / rate

    def loss(line: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        u, v = expit(labels @ line), expit(planted @ line)
        total = np.log(excess * u + len(labels)).sum()
        total += (np.log(excess * v + len(labels)) - np.log(excess * v + 1e-300)).sum()
        slope = labels.T @ (excess * u * (1 - u) / (excess * u + len(labels)))
        slope -= planted.T @ ((1 - v) * len(labels) / (excess * v + len(labels)))
        away = np.append((line - start)[:-1], 0)
        return total + KEPT * away @ away, slope + 2 * KEPT * away

    return _unscaled(minimize(loss, start, jac=True, method="L-BFGS-B").x, middle, width)


def with_margins(logits: NDArray[np.float64], margins: NDArray[np.float32]) -> NDArray[np.float64]:
    """Add what training margins say: how much oftener wrong labels than right ones have such a margin.

    No margin is known for a planted flip without training again, so the logits so far tell wrong from right.
    What margins repeat of it is not known either; half of what they say is added.
    """
    known = np.isfinite(margins)
    edges = np.unique(np.quantile(margins[known], np.linspace(0, 1, BINS + 1)[1:-1])) if known.any() else np.empty(0)
    place = np.searchsorted(edges, margins[known], side="right")
    wrong = expit(logits[known])
    counts = [np.bincount(place, each, len(edges) + 1) + 1 for each in (wrong, 1 - wrong)]
    says = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
    added = logits.copy()
    added[known] += SHARED * says[place]
    return added


def shift_to(logits: NDArray[np.float64], rate: float) -> float:
    """What to add to all logits so that the mean probability is the noise rate."""
    wanted = min(max(rate, 1e-9), 1 - 1e-9)
    return float(brentq(lambda shift: expit(logits + shift).mean() - wanted, -2 * FAR, 2 * FAR, xtol=1e-9))


def _with_one(
    features: NDArray[np.float64], middle: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.column_stack([(features - middle) / width, np.ones(len(features))])


def _unscaled(line: NDArray[np.float64], middle: NDArray[np.float64], width: NDArray[np.float64]) -> Weights:
    weights = line[:-1] / width
    return Weights(weights, float(line[-1] - weights @ middle))
