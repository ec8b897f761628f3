from itertools import pairwise

import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.metrics import margin_counts
from labelnoise.metrics.margins import margins

RNG = np.random.default_rng(0)
PROBS, Y = RNG.dirichlet(np.ones(4), 200), RNG.integers(0, 4, 200)


def test_a_margin_is_the_score_of_the_label_above_the_mean_score():
    expected = [row[y] - sum(row) / 4 for row, y in zip(PROBS.tolist(), Y.tolist(), strict=True)]
    assert margins(PROBS, Y).tolist() == pytest.approx(expected, abs=1e-15)


def test_margins_of_logits_do_not_change_when_all_of_them_rise():
    logits = torch.tensor([[2.0, 0.5, -1.0]], dtype=torch.float64)
    assert margins(logits, [0]).item() == pytest.approx(1.5, abs=1e-15)
    assert margins(logits + 7, [0]).item() == pytest.approx(1.5, abs=1e-14)


@pytest.mark.parametrize(("prob", "expected"), [([0, 1, 0, 0], -0.25), ([1, 0, 0, 0], 0.75), ([0.25] * 4, 0)])
def test_margins_of_probabilities_lie_between_minus_and_one_minus_one_over_k(prob, expected):
    assert margins(torch.tensor([prob]), [0]).item() == expected


def test_a_row_of_no_class_has_no_margin():
    assert margins(PROBS[:2], [-1, 1]).isnan().tolist() == [True, False]


def test_labels_that_all_runs_share_need_no_run_axis():
    runs = torch.from_numpy(np.stack([PROBS, PROBS[::-1].copy()]))
    assert margins(runs, Y)[1].equal(margins(PROBS[::-1].copy(), Y))


def test_half_precision_is_widened():
    assert margins(torch.from_numpy(PROBS).half(), Y).dtype == torch.float64


@pytest.mark.parametrize("bins", [1, 7, 60])
def test_counts_equal_a_loop_over_bins(bins):
    found = margins(PROBS, Y)
    edges = [-0.25 + b / bins for b in range(bins + 1)]
    expected = [sum(low < m <= high for m in found.tolist()) for low, high in pairwise(edges)]
    assert margin_counts(found, 4, bins).tolist() == expected


def test_both_ends_are_counted():
    assert margin_counts(torch.tensor([-0.25, 0.75]), 4, 10).tolist() == [1, *[0] * 8, 1]


def test_what_has_no_margin_is_not_counted():
    assert margin_counts(torch.tensor([[0.1, torch.nan], [0.2, 0.3]]), 4, 5).sum(-1).tolist() == [1, 2]


def test_counts_need_a_bin():
    with pytest.raises(InputError, match="at least 1"):
        margin_counts(torch.zeros(3), 4, 0)
