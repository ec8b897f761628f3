import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.transition import estimate_dual


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


T = double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
TRUE = torch.arange(3).repeat_interleave(20)
GIVEN = torch.cat([torch.arange(3).repeat_interleave((20 * row).round().long()) for row in T])  # exact counts of T


def naive(probs: Tensor, labels: Tensor) -> Tensor:
    """Both factors by loops, with the arg-max as anchor."""
    classes = probs.shape[1]
    spades = torch.zeros(classes, classes, dtype=torch.float64)
    for row, label in zip(probs.tolist(), labels.tolist(), strict=True):
        spades[row.index(max(row)), label] += 1
    clubs = torch.stack([probs[column.argmax()] for column in probs.T])
    return clubs @ (spades / spades.sum(1, keepdim=True))


def test_a_sure_network_gives_t_exactly() -> None:
    torch.testing.assert_close(estimate_dual(torch.eye(3)[TRUE], GIVEN), T, rtol=1e-12, atol=1e-15)


def test_exact_noisy_posteriors_of_separable_classes_give_t_twice() -> None:
    torch.testing.assert_close(estimate_dual(T[TRUE], GIVEN), T @ T, rtol=1e-12, atol=1e-15)


def test_both_factors_agree_with_loops() -> None:
    generator = torch.Generator().manual_seed(3)
    probs = (2 * torch.randn(200, 4, generator=generator, dtype=torch.float64)).softmax(1)
    labels = torch.randint(4, (200,), generator=generator)
    torch.testing.assert_close(estimate_dual(probs, labels, quantile=None), naive(probs, labels), rtol=1e-12, atol=0)


def test_a_class_that_is_never_predicted_keeps_its_posterior() -> None:
    probs = double([[0.4, 0.6], [0.4, 0.6], [0.2, 0.8], [0.2, 0.8]])
    labels = torch.tensor([0, 1, 1, 1])  # of all four, predicted 1, a quarter is given 0
    expected = double([[0.4 + 0.6 * 0.25, 0.6 * 0.75], [0.2 + 0.8 * 0.25, 0.8 * 0.75]])
    torch.testing.assert_close(estimate_dual(probs, labels, quantile=None), expected, rtol=1e-12, atol=0)


def test_a_class_without_an_anchor_is_named_where_asked() -> None:
    probs = double([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]])
    labels = torch.tensor([0, 0, 2, 1])
    with pytest.raises(InputError, match="class 1 has no anchor"):
        estimate_dual(probs, labels, strict=True)
    assert estimate_dual(probs, labels).isfinite().all()
