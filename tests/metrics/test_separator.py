import math

import numpy as np
import pytest

from labelnoise.data import load
from labelnoise.errors import InputError
from labelnoise.metrics.separator import separator

SMOOTHED = {0: -0.602714, 0.05: -0.249921, 0.1: -0.186005, 0.2: -0.134036, 0.5: -0.088571, 0.8: -0.076630}
PENALISED = {1e-3: -0.428006, 1e-2: -0.244618, 0.1: -0.157729, 1: -0.385426}


def gap(alpha):
    """The scores at both means for a spread of 0: the log-odds of the smoothed labels."""
    odds = [math.log(p / (1 - p)) for p in (1 - alpha / 2, 0.05 * (1 - alpha) + alpha / 2)]
    return -math.sqrt(2) * sum(odds) / (odds[0] - odds[1])


@pytest.mark.parametrize(("alpha", "crossing"), SMOOTHED.items())
def test_smoothing_moves_the_line_towards_the_middle(alpha, crossing):
    assert separator(alpha).crossing == pytest.approx(crossing, abs=5e-7)


@pytest.mark.parametrize(("l2", "crossing"), PENALISED.items())
def test_a_strong_penalty_moves_it_away_again(l2, crossing):
    assert separator(l2=l2).crossing == pytest.approx(crossing, abs=5e-7)


@pytest.mark.parametrize(("alpha", "crossing"), [(0.1, -0.187813), (0.2, -0.134613), (0.5, -0.088362)])
def test_points_instead_of_gaussians_have_a_closed_form(alpha, crossing):
    assert gap(alpha) == pytest.approx(crossing, abs=5e-7)
    assert separator(alpha, spread=1e-7).crossing == pytest.approx(gap(alpha), abs=1e-9)


@pytest.mark.parametrize(("spread", "expected"), [(1e-7, -0.074432), (0.1, -0.0748045)])
def test_full_smoothing_is_least_squares(spread, expected):
    # scores near 0 are linear in the labels: t₀ = -mean(label) var(t) / cov(t, label), labels 1 and -0.9
    assert -0.05 * (2 + spread**2) / (0.95 * math.sqrt(2)) == pytest.approx(expected, abs=5e-7)
    assert separator(1 - 1e-6, spread=spread).crossing == pytest.approx(expected, abs=1e-6)


def test_without_wrong_labels_the_line_is_in_the_middle():
    assert separator(0.1, wrong=1e-12).crossing == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("settings", [{"alpha": 0.2}, {"l2": 0.05}])
def test_gradient_descent_on_points_drawn_from_the_population_comes_near(settings):
    points = load("gaussians", 0)
    t = (points.x.sum(1) / math.sqrt(2)).double().numpy()
    negative = points.y_given.numpy() == 0
    alpha, l2 = settings.get("alpha", 0), settings.get("l2", 0)
    target = (1 - alpha) * np.where(negative, 0.05, 1.0) + alpha / 2
    slope = intercept = 0.0
    for _ in range(4000):
        excess = 1 / (1 + np.exp(-slope * t - intercept)) - target
        slope, intercept = slope - 0.5 * ((excess * t).mean() + 2 * l2 * slope), intercept - 0.5 * excess.mean()
    assert -intercept / slope == pytest.approx(separator(**settings).crossing, abs=0.01)


def test_the_line_in_the_plane_crosses_the_diagonal_where_it_says():
    found = separator(0.1)
    a, b, c = found.plane
    at = found.crossing / math.sqrt(2)
    assert a * at + b * at + c == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("settings", [{"alpha": 1}, {"alpha": -0.1}, {"l2": -1}, {"wrong": 0}, {"spread": 0}])
def test_settings_without_a_solution_are_refused(settings):
    with pytest.raises(InputError, match="separator needs"):
        separator(**settings)
