import numpy as np

from labelnoise.auditing.shortlist import FLOOR, Shortlist, floored

SHORTLIST = Shortlist(np.array([[2, 0], [1, 3]], np.int32), np.array([[0.6, 0.3], [0.8, 0.1]], np.float32))


def test_a_missing_label_takes_the_last_place():
    held = SHORTLIST.holding(np.array([0, 2]), np.array([0.3, 0.05], np.float32))
    assert held.classes.tolist() == [[2, 0], [1, 2]]
    np.testing.assert_allclose(held.probs, [[0.6, 0.3], [0.8, 0.05]])
    assert SHORTLIST.classes.tolist() == [[2, 0], [1, 3]]  # as it was


def test_the_best_other_class():
    np.testing.assert_allclose(SHORTLIST.best_but(np.array([2, 3])), [0.3, 0.8])


def test_rows_are_taken_in_the_order_asked_for():
    assert SHORTLIST.at(np.array([1, 0])).classes.tolist() == [[1, 3], [2, 0]]


def test_zeros_have_a_logarithm():
    assert floored(np.array([0, 0.5], np.float32)).tolist() == [np.float32(FLOOR), 0.5]
