import numpy as np
import pytest
import torch

from labelnoise.metrics.breakdown import Breakdown, breakdown

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 5, 400)
GIVEN = np.where(RNG.random(400) < 0.2, (TRUE + RNG.integers(1, 5, 400)) % 5, TRUE)
PREDICTED = np.where(RNG.random(400) < 0.6, TRUE, np.where(RNG.random(400) < 0.5, GIVEN, RNG.integers(0, 5, 400)))


def counted(predicted, given, true):
    """Row by row."""
    rows = list(zip(predicted, given, true, strict=True))
    clean = [p == t for p, g, t in rows if g == t]
    wrong = [(p == t, p == g) for p, g, t in rows if g != t]
    return {
        "wrong": len(wrong) / len(rows),
        "full_true": np.mean([p == t for p, _, t in rows]),
        "full_given": np.mean([p == g for p, g, _ in rows]),
        "clean": np.mean(clean),
        "wrong_true": np.mean([as_true for as_true, _ in wrong]),
        "wrong_given": np.mean([as_given for _, as_given in wrong]),
    }


def test_every_share_equals_a_count_row_by_row():
    found = breakdown(PREDICTED, GIVEN, TRUE)._asdict()
    assert {name: value.item() for name, value in found.items()} == pytest.approx(counted(PREDICTED, GIVEN, TRUE))


@pytest.mark.parametrize("which", ["true", "given"])
def test_the_full_accuracy_is_made_of_both_parts(which):
    found = breakdown(PREDICTED, GIVEN, TRUE)
    parts = (1 - found.wrong) * found.clean + found.wrong * getattr(found, f"wrong_{which}")
    assert getattr(found, f"full_{which}").item() == pytest.approx(parts.item(), abs=1e-15)


def test_a_network_that_knows_the_truth_has_memorised_nothing():
    found = breakdown(TRUE, GIVEN, TRUE)
    assert [found.full_true, found.clean, found.wrong_true, found.wrong_given] == [1, 1, 1, 0]


def test_a_network_that_repeats_its_labels_has_recovered_nothing():
    found = breakdown(GIVEN, GIVEN, TRUE)
    assert [found.full_given, found.clean, found.wrong_true, found.wrong_given] == [1, 1, 0, 1]


def test_an_empty_part_has_no_accuracy():
    found = breakdown(PREDICTED, TRUE, TRUE)
    assert found.wrong_true.isnan()
    assert found.wrong_given.isnan()
    assert found.wrong == 0


def test_rows_of_no_class_can_be_memorised_but_not_recovered():
    found = breakdown([0, 1, 2], torch.tensor([0, 1, 1]), torch.tensor([0, -1, 2]))
    assert found == Breakdown(*map(pytest.approx, (2 / 3, 1, 2 / 3, 1, 1, 1 / 2)))


def test_labels_that_all_runs_share_need_no_run_axis():
    runs = np.stack([PREDICTED, GIVEN])
    assert breakdown(runs, GIVEN, TRUE).full_given.tolist() == [breakdown(PREDICTED, GIVEN, TRUE).full_given, 1]
