import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.transition.checked import checked_labels, checked_pair, checked_probs


def probs(rows: int = 10, classes: int = 3) -> torch.Tensor:
    return torch.full((rows, classes), 1 / classes)


@pytest.mark.parametrize("shape", [(10,), (10, 1), (2, 10, 3)])
def test_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"probs must be of shape \(examples, classes\)"):
        checked_probs(torch.ones(shape))


def test_whole_numbers_are_no_probabilities() -> None:
    with pytest.raises(InputError, match=r"floating point, not \(4, 2\) of torch.int64"):
        checked_probs(torch.ones(4, 2, dtype=torch.long))


def test_fewer_examples_than_classes_are_refused() -> None:
    with pytest.raises(InputError, match="2 examples cannot hold anchors for 3 classes"):
        checked_probs(probs(2))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1])
def test_what_is_no_probability_is_refused_with_its_row(value: float) -> None:
    wrong = probs()
    wrong[4, 1] = value
    with pytest.raises(InputError, match="row 4 of probs"):
        checked_probs(wrong)


def test_row_of_zeros_is_refused() -> None:
    wrong = probs()
    wrong[7] = 0
    with pytest.raises(InputError, match="row 7 of probs"):
        checked_probs(wrong)


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_outside_the_classes_is_refused_with_its_row(label: int) -> None:
    with pytest.raises(InputError, match=f"labels holds {label} in row 1, but the classes are 0 to 2"):
        checked_labels(np.array([0, label, 2]), 3)


def test_true_labels_may_be_of_none_of_the_classes() -> None:
    assert checked_labels(np.array([-1, 2]), 3, "y_true", least=-1).tolist() == [-1, 2]


@pytest.mark.parametrize("labels", [torch.zeros(3), torch.zeros(3, 1, dtype=torch.long), torch.zeros(3).bool()])
def test_what_is_no_vector_of_whole_numbers_is_refused(labels: torch.Tensor) -> None:
    with pytest.raises(InputError, match="labels must be a vector of whole numbers"):
        checked_labels(labels, 3)


def test_a_label_is_asked_for_each_row() -> None:
    with pytest.raises(InputError, match="probs has 10 rows but labels has 9"):
        checked_pair(probs(), torch.zeros(9, dtype=torch.long))
