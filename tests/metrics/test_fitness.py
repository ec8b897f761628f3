import math
from functools import partial

import numpy as np
import pytest
import torch

from labelnoise.losses import divergence
from labelnoise.metrics import divergence_values, pair_counts
from labelnoise.metrics.fitness import fitness

RNG = np.random.default_rng(0)
PREDICTED, LABELS = RNG.integers(0, 3, 300), RNG.integers(0, 3, 300)
PREDICTED = np.where(RNG.random(300) < 0.5, LABELS, PREDICTED)
JOINT = torch.tensor([[0.4, 0.1], [0.2, 0.3]], dtype=torch.float64)


def total_variation(p, q):
    return (p - q).abs().sum() / 2


def kl(p, q):
    return torch.special.xlogy(p, p / q).sum()


def test_pairs_are_counted_by_prediction_and_label():
    pairs = list(zip(PREDICTED, LABELS, strict=True))
    expected = [[pairs.count((i, j)) for j in range(3)] for i in range(3)]
    assert pair_counts(PREDICTED, LABELS, 3).tolist() == expected


def test_rows_of_no_class_are_in_no_pair():
    assert pair_counts([0, 1, 1], torch.tensor([0, -1, 1]), 2).tolist() == [[1, 0], [0, 1]]


def test_pairs_have_a_run_axis_where_predictions_have_one():
    runs = np.stack([PREDICTED, LABELS])
    both = pair_counts(runs, LABELS, 3)
    assert both[0].equal(pair_counts(PREDICTED, LABELS, 3))
    assert both[1].tolist() == np.diag(np.bincount(LABELS)).tolist()


def test_fitness_is_the_ratio_of_its_definition():
    found = fitness(pair_counts(PREDICTED, LABELS, 3))
    for y in range(3):
        for other in range(3):
            so_labelled = [p == y for p, label in zip(PREDICTED, LABELS, strict=True) if label == other]
            expected = np.mean(so_labelled) / np.mean([p == y for p in PREDICTED])
            assert found[y, other].item() == pytest.approx(expected, abs=1e-14)


def test_a_random_classifier_has_fitness_one():
    found = fitness([[6, 21], [10, 35]])  # every row in the same proportions
    np.testing.assert_allclose(found, 1, rtol=1e-14)


def test_a_perfect_classifier_of_balanced_classes_has_fitness_k_on_the_diagonal():
    assert fitness(torch.eye(4)).equal(4 * torch.eye(4, dtype=torch.float64))


def test_a_class_that_is_never_predicted_has_no_fitness():
    assert fitness(torch.tensor([[3, 4], [0, 0]]))[1].isnan().all()


@pytest.mark.parametrize(("of", "expected"), [(total_variation, 0.2), (kl, 0.08630462)])
def test_the_divergence_of_a_joint_from_its_product(of, expected):
    assert divergence_values(JOINT, of).item() == pytest.approx(expected, abs=5e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("total_variation", 0.9),
        ("jensen_shannon", 1.051195),
        ("pearson", 9),
        ("kl", 2.302585),
        ("reverse_kl", math.inf),
        ("jeffrey", math.inf),
        ("squared_hellinger", 1.367544),
        ("neyman", math.inf),
    ],
)
def test_the_eight_divergences_of_a_perfect_classifier_of_ten_classes(name, expected):
    found = divergence_values(np.diag([7] * 10), partial(divergence, name=name))
    assert found.item() == pytest.approx(expected, abs=5e-7)


def test_predictions_that_tell_nothing_have_divergence_zero():
    assert divergence_values([[6, 21], [10, 35]], total_variation).item() == pytest.approx(0, abs=1e-15)


def test_every_run_has_a_divergence():
    runs = torch.stack([JOINT, torch.full((2, 2), 0.25)])
    assert divergence_values(runs, total_variation).tolist() == pytest.approx([0.2, 0], abs=1e-15)


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.2, 0.2), (0.05, 0.6)])
def test_total_variation_shrinks_by_the_determinant_under_binary_noise(rates):
    # Wei and Liu 2021, Theorem 4 with no bias: the noisy value is 1 - e₋ - e₊ of the clean one
    T = torch.tensor([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]], dtype=torch.float64)
    noisy = divergence_values(JOINT @ T, total_variation)
    assert noisy.item() == pytest.approx((1 - sum(rates)) * 0.2, abs=1e-15)
