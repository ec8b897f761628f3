import pytest
import torch

from labelnoise.methods.ce import CE
from labelnoise.types import Context


def test_objective_is_the_mean_cross_entropy(table, labelled) -> None:
    nets = {"net": table([[2.0, -1.0, 0.5]] * 3)}
    expected = (0.2413112967 + 3.2413112967 + 1.7413112967) / 3
    assert CE().objective(nets, labelled([0, 1, 2]), Context()).loss.item() == pytest.approx(expected, abs=1e-9)


def test_gradient_is_p_minus_the_label(table, labelled) -> None:
    net = table([[2.0, -1.0, 0.5]])
    CE().objective({"net": net}, labelled([1]), Context()).loss.backward()
    expected = net.logits.detach().softmax(-1) - torch.tensor([[0.0, 1.0, 0.0]])
    torch.testing.assert_close(net.logits.grad, expected, rtol=1e-12, atol=1e-15)
