import pytest
import torch

from labelnoise.crossfit.cut import cut, possible_folds
from labelnoise.errors import InputError

GIVEN = torch.tensor([0] * 23 + [1] * 11 + [2] * 3)


@pytest.mark.parametrize(("rows", "folds"), [(37, 5), (36, 4), (37, 2), (11, 10), (5, 5)])
def test_every_row_is_left_aside_and_none_is_learnt_where_it_is(rows, folds):
    splits = cut(GIVEN[:rows], folds, seed=0)
    assert set(torch.cat([split.validation for split in splits]).tolist()) == set(range(rows))
    for train, aside, _ in splits:
        assert sorted(train.tolist() + aside.tolist()) == list(range(rows))


@pytest.mark.parametrize("folds", [2, 3, 5, 7])
def test_all_folds_are_equally_large(folds):
    splits = cut(GIVEN, folds, seed=1)
    assert {len(split.validation) for split in splits} == {-(-37 // folds)}
    assert len({len(split.train) for split in splits}) == 1


def test_every_class_is_spread_evenly():
    splits = cut(GIVEN, 5, seed=0)
    counts = torch.stack([GIVEN[split.validation].bincount(minlength=3) for split in splits])
    assert (counts.max(0).values - counts.min(0).values <= 2).all()


@pytest.mark.parametrize("rows", range(7, 37))
def test_with_three_folds_or_more_every_row_is_learnt_from(rows):
    for folds in (3, 4, 5, 7):
        learnt = torch.cat([split.train for split in cut(GIVEN[:rows], folds, seed=2)])
        assert set(learnt.tolist()) == set(range(rows))


def test_rows_without_a_label_are_neither_learnt_nor_left_aside():
    given = GIVEN.clone()
    given[[3, 30]] = -1
    for train, aside, unlabelled in cut(given, 5, seed=0):
        assert unlabelled.tolist() == [3, 30]
        assert not {3, 30} & {*train.tolist(), *aside.tolist()}


def test_the_seed_decides():
    first, again, other = (cut(GIVEN, 5, seed)[0].validation.tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_more_folds_than_rows_become_as_many_with_a_sentence():
    assert possible_folds(5, 3) == (3, ("5 folds were asked for, but 3 rows have a label; there are 3 folds",))
    assert possible_folds(5, 5) == (5, ())


def test_a_single_fold_is_refused():
    with pytest.raises(InputError, match="at least 2, not 1"):
        possible_folds(1, 100)
