import numpy as np
import pytest

from labelnoise.auditing.learnt import learnt_classes, learnt_little


def test_a_class_that_is_never_predicted_is_not_learnt():
    given = np.repeat([0, 1, 2], [100, 100, 20])
    best = np.where(given == 2, 0, given)
    assert learnt_classes(best, given, 3).tolist() == [True, True, False]


def test_nothing_is_learnt_where_one_class_is_always_predicted():
    given = np.repeat([0, 1], [357, 20])
    assert not learnt_classes(np.zeros(377, int), given, 2).any()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("rows", "classes"), [(2000, 3), (2000, 1000), (3, 3)])
def test_nothing_is_learnt_by_chance(rows, classes, seed):
    rng = np.random.default_rng(seed)
    given, best = rng.integers(classes, size=(2, rows))
    best[:3] = (given[:3] + 1) % classes
    assert not learnt_classes(best, given, classes).any()


def test_a_model_that_finds_some_rows_of_a_rare_class_has_learnt_it():
    given = np.repeat([0, 1], [950, 50])
    best = np.zeros(1000, int)
    best[950:965] = 1
    best[:10] = 1
    assert learnt_classes(best, given, 2).all()


def test_many_wrong_labels_in_many_classes_are_no_sign_of_a_class_that_is_not_learnt():
    rng = np.random.default_rng(0)
    true = rng.integers(1000, size=20_000)
    given = np.where(rng.random(20_000) < 0.4, rng.integers(1000, size=20_000), true)
    assert learnt_classes(true, given, 1000).mean() > 0.99


@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize("hits", [0, 1])
def test_a_class_of_few_rows_is_learnt_by_a_single_hit_and_one_of_none_is_not_missed(rows, hits):
    given = np.repeat([0, 1, 2], [50, 50, rows])
    best = np.where(given == 2, 0, given)
    best[100 : 100 + hits] = 2
    assert learnt_classes(best, given, 4).tolist() == [True, True, bool(hits), True]


@pytest.mark.parametrize(
    ("classes", "right", "little"),
    [(10, 40, False), (10, 39, True), (3, 56, False), (3, 55, True), (2, 61, False), (2, 60, True)],
)
def test_little_is_learnt_where_much_is_contradicted_and_the_way_from_chance_is_not_gone_to_a_third(
    classes, right, little
):
    given = np.repeat(np.arange(classes), 100)
    best = np.where(np.arange(len(given)) % 100 < right, given, (given + 1) % classes)  # each as often as it is given
    assert learnt_little(best, given, classes) == little
