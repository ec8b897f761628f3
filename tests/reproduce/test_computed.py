import math
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.reproduce.computed import FLOOR, HEIGHT, laws, losses, residual_counts

LN = figures(paper("logistic_normal"))
LS = figures(paper("label_smoothing"))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def test_losses_by_margin_are_those_of_the_closed_forms():
    """Two classes, alpha 0.2: -log p; 0.9 and 0.1, 1.125 and -0.125 parts of both losses; -log of mixed p."""
    found, drawing = losses(LS["fig1"])
    z = np.linspace(-6, 6, 241)
    own, other = -np.log(sigmoid(z)), -np.log(sigmoid(-z))
    expected = {
        "CE": own,
        "label smoothing": 0.9 * own + 0.1 * other,
        "backward": 1.125 * own - 0.125 * other,
        "forward": -np.log(0.8 * sigmoid(z) + 0.1),
    }
    for each in found:
        margin, loss = each.numbers("margin", "loss")
        assert margin == pytest.approx(z, abs=1e-9)
        assert loss == pytest.approx(expected[each.method], abs=1e-9)
    assert {each.method for each in found} == set(expected)
    assert len(drawing.panels) == 1


def test_losses_do_as_the_paper_says():
    found = {each.method: each.numbers("loss")[0] for each in losses(LS["fig1"])[0]}
    assert found["CE"][-1] < 0.01  # vanishes
    assert 0 < found["label smoothing"].argmin() < 240  # has a finite minimum
    assert found["label smoothing"].min() > 0
    assert found["backward"][-1] < 0  # becomes negative
    assert found["forward"][0] < -math.log(0.1)  # saturates


def test_derivatives_are_slopes_of_the_losses():
    for each in losses(LS["fig1"])[0]:
        margin, loss, derivative = each.numbers("margin", "loss", "derivative")
        assert np.gradient(loss, margin)[1:-1] == pytest.approx(derivative[1:-1], abs=1e-3)


def test_every_loss_has_a_curve_above_and_its_derivative_below():
    svg = losses(LS["fig1"])[1].panels[0].svg
    drawn = [each.get("style", "") for each in ElementTree.fromstring(svg).iter("path") if len(each.get("d", "")) > 100]
    assert [sum(f"var(--s{index})" in style for style in drawn) for index in range(5)] == [2, 2, 2, 2, 0]


def test_laws_have_the_moments_of_labels_of_either_class():
    """Labels at (h, 0) and (0, h) with probabilities p and 1 - p; across the line between them the floor is left."""
    found, drawing = laws(LN["fig1"])
    for each, share in zip(found, (0.98, 0.6), strict=True):
        labels = HEIGHT * np.array([[1.0, 0], [0, 1]])
        mean = share * labels[0] + (1 - share) * labels[1]
        spread = share * np.outer(*[labels[0] - mean] * 2) + (1 - share) * np.outer(*[labels[1] - mean] * 2)
        a, b, aa, ab, bb = (column[0] for column in each.numbers("mean_a", "mean_b", "root_aa", "root_ab", "root_bb"))
        root = np.array([[aa, ab], [ab, bb]])
        along, across = np.array([1, -1]) / 2**0.5, np.array([1, 1]) / 2**0.5
        assert [a, b] == pytest.approx(mean)
        assert along @ root @ root @ along == pytest.approx(max(along @ spread @ along, FLOOR**2))
        assert across @ root @ across == pytest.approx(FLOOR)
    assert len(drawing.panels) == 2


def test_what_a_residual_counts_is_a_square_up_to_the_floor_and_then_1():
    found, drawing = residual_counts(LN["fig2"])
    for each, floor in zip(found, (0.5, 1.0, 2.0), strict=True):
        r, term, loss = each.numbers("residual", "label_term", "loss")
        for place in range(0, len(r), 40):
            spread = max(r[place], floor)  # the best that a covariance may be
            assert term[place] == pytest.approx((r[place] / spread) ** 2)
            assert loss[place] - loss[0] == pytest.approx(term[place] / 2 + math.log(spread / floor), rel=1e-6)
    assert len(drawing.panels) == 2
