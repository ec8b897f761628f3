import pytest
import torch
from torch import Tensor

from labelnoise.errors import InputError
from labelnoise.transition import confident_joint, estimate_confident


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


T = double([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
TRUE = torch.arange(3).repeat_interleave(20)
GIVEN = torch.cat([torch.arange(3).repeat_interleave((20 * row).round().long()) for row in T])  # exact counts of T


def naive(probs: Tensor, labels: Tensor) -> Tensor:
    """The calibrated joint by loops, (given, true)."""
    classes = probs.shape[1]
    thresholds = [probs[labels == j, j].mean().item() for j in range(classes)]
    counts = torch.zeros(classes, classes, dtype=torch.float64)
    for row, given in zip(probs.tolist(), labels.tolist(), strict=True):
        candidates = [j for j in range(classes) if row[j] >= thresholds[j]]
        if candidates:
            counts[given, max(candidates, key=row.__getitem__)] += 1
    return counts / counts.sum(1, keepdim=True) * torch.bincount(labels, minlength=classes)[:, None]


@pytest.mark.parametrize("probs", [T[TRUE], torch.eye(3)[TRUE]], ids=["noisy posteriors", "sure"])
def test_separable_classes_with_exact_counts_give_t_exactly(probs: Tensor) -> None:
    torch.testing.assert_close(estimate_confident(probs, GIVEN), T, rtol=1e-12, atol=1e-15)


def test_the_joint_agrees_with_loops() -> None:
    generator = torch.Generator().manual_seed(3)
    probs = (2 * torch.randn(300, 4, generator=generator, dtype=torch.float64)).softmax(1)
    labels = torch.randint(4, (300,), generator=generator)
    torch.testing.assert_close(confident_joint(probs, labels), naive(probs, labels), rtol=1e-12, atol=0)


def test_an_example_below_all_thresholds_is_not_counted() -> None:
    probs = double([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.52, 0.48]])  # thresholds 0.773 and 0.9
    labels = torch.tensor([0, 0, 1, 1, 0])
    assert confident_joint(probs, labels).tolist() == [[3, 0], [0, 2]]  # scaled to three labels 0
    assert torch.equal(estimate_confident(probs, labels), torch.eye(2, dtype=torch.float64))


def test_the_likeliest_of_several_candidates_counts() -> None:
    probs = double([[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.45, 0.1, 0.45], [0.45, 0.0, 0.55]])
    labels = torch.tensor([0, 1, 2, 2])  # thresholds 0.5, 0.5, 0.5
    probs[3, 0] = 0.6  # now above its threshold too, and likelier than class 2
    assert confident_joint(probs, labels)[2].tolist() == [2, 0, 0]


def test_equal_probabilities_reach_their_own_mean() -> None:
    probs = double([[0.7, 0.3]] * 11 + [[0.3, 0.7]] * 11)  # the mean of eleven times 0.7 may round above it
    labels = torch.tensor([0] * 11 + [1] * 11)
    assert confident_joint(probs, labels).tolist() == [[11, 0], [0, 11]]


def test_a_class_that_no_example_is_confidently_of_is_named() -> None:
    probs = double([[0.9, 0.05, 0.05], [0.8, 0.15, 0.05], [0.1, 0.1, 0.8], [0.1, 0.05, 0.85]])
    with pytest.raises(InputError, match=r"no example is confidently of class 1.*in which the class is given"):
        estimate_confident(probs, torch.tensor([0, 0, 2, 2]))
