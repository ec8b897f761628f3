from itertools import groupby
from math import nan, sqrt

import numpy as np
import pytest
from scipy.stats import ttest_ind

from labelnoise.papers import Cell, paper
from labelnoise.reproduce.beside import Beside, Spread, not_worse, spread

CELL = Cell("mnist", "random:0.4:exact", "CE", 70.67, 1.30, best=False)


def beside(ours, cell=CELL, seeds=5):
    return Beside(cell, {"last": ours} if ours else {}, "last", seeds)


def test_shares_of_runs_become_per_cent_with_the_deviation_of_a_sample():
    assert spread([0.5, 0.7]) == pytest.approx(Spread(60.0, 100 * sqrt(0.02), 2))
    assert spread([0.5]) == Spread(50.0, None, 1)


def test_a_difference_of_two_standard_errors_is_chance_and_more_is_not():
    error = sqrt(1.2**2 / 3 + 1.30**2 / 5)
    near, far = (beside(Spread(70.67 + shift * error, 1.2, 3)) for shift in (1.99, 2.01))
    assert near.error == pytest.approx(error)
    assert (near.within, far.within) == (True, False)
    assert far.difference == pytest.approx(2.01 * error)


def test_a_mean_that_lacks_failed_runs_is_never_within_chance_but_may_be_off():
    near, far = (Spread(mean, 1.0, 3) for mean in (70.7, 60.0))
    found = [Beside(CELL, {"last": ours}, "last", 5, failed=1).within for ours in (near, far)]
    assert found == [None, False]


def test_a_figure_without_a_spread_is_single():
    assert [beside(None, CELL._replace(std=std)).single for std in (None, 0.5)] == [True, False]
    assert not beside(None, CELL._replace(mean=nan, std=None)).single  # none is printed


def test_a_single_published_run_is_taken_to_spread_as_ours_do():
    assert beside(Spread(72.0, 1.0, 4), CELL._replace(std=None)).error == pytest.approx(sqrt(1 / 4 + 1))


def test_a_single_run_of_ours_is_taken_to_spread_as_the_published_ones_do():
    assert beside(Spread(72.0, None, 1)).error == pytest.approx(sqrt(1.30**2 + 1.30**2 / 5))


def test_a_spread_is_wide_where_less_than_one_in_a_hundred_is_as_much_by_chance():
    # F of 2 and 4 degrees of freedom exceeds x with probability 1 / (1 + x / 2)²
    bound = 1.30 * sqrt(2 * (sqrt(100) - 1))
    assert [beside(Spread(70.0, share * bound, 3)).wide for share in (0.99, 1.01)] == [False, True]


@pytest.mark.parametrize("ours", [None, Spread(70.0, None, 1), Spread(70.0, 0.0, 3)])
def test_what_does_not_spread_is_not_wide(ours):
    assert not beside(ours).wide
    assert not beside(Spread(70.0, 9.0, 3), CELL._replace(std=None)).wide


def test_where_nothing_spreads_nobody_knows():
    found = beside(Spread(72.0, None, 1), CELL._replace(std=None))
    assert (found.error, found.within, found.difference) == (None, None, pytest.approx(1.33))


def test_without_runs_there_is_no_difference():
    found = beside(None)
    assert (found.reached, found.difference, found.error, found.within) == (None, None, None, None)


def test_beside_what_is_not_printed_there_is_nothing_to_differ_from():
    found = beside(Spread(72.0, 1.0, 3), CELL._replace(mean=nan, std=None))
    assert (found.reached, found.published) == (Spread(72.0, 1.0, 3), None)
    assert (found.difference, found.error, found.within) == (None, None, None)


def test_chance_is_the_p_of_the_test_on_the_runs_themselves():
    ours, theirs = [0.71, 0.74, 0.72], [0.69, 0.70, 0.72, 0.71, 0.68]
    published = spread(theirs)
    found = beside(spread(ours), CELL._replace(mean=published.mean, std=published.std))
    assert found.chance == pytest.approx(ttest_ind(ours, theirs, equal_var=True).pvalue)


def test_without_a_spread_on_either_side_nothing_tells_of_chance():
    sides = [(None, CELL), (Spread(72.0, None, 1), CELL), (Spread(72.0, 1.0, 3), CELL._replace(std=None))]
    assert [beside(ours, cell).chance for ours, cell in sides] == [None, None, None]


@pytest.mark.parametrize(("ours", "theirs", "share"), [(3, 5, 1 / 10), (5, 5, 1 / 12), (3, 1, 2 / 11)])
def test_so_many_cells_of_trainings_that_are_alike_are_off_by_chance(ours, theirs, share):
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(4000):
        published = spread(rng.normal(0.9, 0.01, theirs).tolist())
        cell = CELL._replace(mean=published.mean, std=published.std)
        verdicts.append(beside(spread(rng.normal(0.9, 0.01, ours).tolist()), cell, theirs).within)
    assert verdicts.count(False) / len(verdicts) == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_marks_of_the_logistic_normal_paper_are_its_bold_figures(table):
    cells = sorted(paper("logistic_normal").published(table), key=lambda cell: (cell.data, cell.noise))
    for _, column in groupby(cells, key=lambda cell: (cell.data, cell.noise)):
        together = list(column)
        marked = not_worse([Spread(cell.mean, cell.std, 5) for cell in together])
        assert marked == [cell.best for cell in together]


def test_marks_are_those_of_the_t_test_on_the_runs_themselves():
    runs = [[0.71, 0.72, 0.73], [0.725, 0.73, 0.735], [0.60, 0.61, 0.62]]
    marked = not_worse([spread(each) for each in runs])
    assert marked == [bool(ttest_ind(each, runs[1]).pvalue >= 0.05) for each in runs]
    assert marked == [True, True, False]


def test_where_the_best_has_a_single_run_nothing_is_told_and_none_is_marked():
    assert not_worse([None, Spread(60, None, 1), Spread(70, None, 1)]) == [False, False, False]
    assert not_worse([Spread(60, 1.0, 3), Spread(70, None, 1)]) == [False, False]
    assert not_worse([Spread(70, 1.0, 3), Spread(60, None, 1)]) == [True, False]
    assert not_worse([None, None]) == [False, False]


def test_figures_without_any_spread_are_alike_only_if_they_are_equal():
    assert not_worse([Spread(99, 0.0, 3), Spread(99, 0.0, 3), Spread(98, 0.0, 3)]) == [True, True, False]


def test_a_spread_is_shown_with_two_digits():
    assert (str(Spread(98.123, 0.456, 5)), str(Spread(98.123, None, 1))) == ("98.12 ± 0.46", "98.12")
