import math

import pytest
import torch
from torch.nn import functional as F

from labelnoise.losses.cross_entropy import CELoss, cross_entropy

LOGITS = torch.tensor([[2.0, -1.0, 0.5]] * 3, dtype=torch.float64)
TARGET = torch.arange(3)
REFERENCE = [0.2413112967, 3.2413112967, 1.7413112967]


def test_values_are_the_published_ones() -> None:
    assert cross_entropy(LOGITS, TARGET).tolist() == pytest.approx(REFERENCE, abs=1e-10)


def test_equals_torch() -> None:
    torch.testing.assert_close(CELoss()(LOGITS, TARGET), F.cross_entropy(LOGITS, TARGET), rtol=1e-14, atol=0)


def test_one_hot_labels_equal_class_indices() -> None:
    one_hot = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(cross_entropy(LOGITS, one_hot), cross_entropy(LOGITS, TARGET), rtol=1e-14, atol=0)


def test_soft_labels_mix_the_losses_of_the_classes() -> None:
    soft = torch.tensor([[0.5, 0.2, 0.3]], dtype=torch.float64)
    expected = 0.5 * REFERENCE[0] + 0.2 * REFERENCE[1] + 0.3 * REFERENCE[2]
    assert cross_entropy(LOGITS[:1], soft).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("soft", [False, True])
def test_eps_is_added_inside_the_logarithm(soft: bool) -> None:
    probs = LOGITS.softmax(-1)
    expected = [-math.log(probs[i, i].item() + 1e-5) for i in range(3)]
    target = torch.eye(3, dtype=torch.float64) if soft else TARGET
    assert cross_entropy(LOGITS, target, 1e-5).tolist() == pytest.approx(expected, abs=1e-12)


def test_eps_bounds_the_loss_of_a_hopeless_example() -> None:
    logits = torch.tensor([[1e4, -1e4]])
    assert cross_entropy(logits, torch.tensor([1]), 1e-5).item() == pytest.approx(11.512925, abs=1e-5)


def test_eps_lets_the_gradient_vanish_where_p_is_far_below_it() -> None:
    logits = torch.tensor([[40.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(cross_entropy(logits, torch.tensor([1]), 1e-5).sum(), logits)
    assert grad.abs().max() == pytest.approx(math.exp(-40) / 1e-5, rel=1e-6)
