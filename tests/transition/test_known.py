import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.transition import estimate_known


def test_rows_are_shares_of_given_labels_in_each_true_class() -> None:
    T = estimate_known(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 0]), classes=2)
    assert T.tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_rows_of_none_of_the_classes_are_left_out() -> None:
    T = estimate_known(torch.tensor([0, -1, 1]), torch.tensor([0, 1, 1]), classes=2)
    assert torch.equal(T, torch.eye(2, dtype=torch.float64))


def test_a_class_without_rows_is_named() -> None:
    with pytest.raises(InputError, match="no row has the true class 2"):
        estimate_known(torch.tensor([0, 1]), torch.tensor([0, 2]), classes=3)


def test_labels_must_come_in_pairs() -> None:
    with pytest.raises(InputError, match="y_true has 3 rows but y_given has 2"):
        estimate_known(torch.tensor([0, 1, 1]), torch.tensor([0, 1]), classes=2)
