import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.losses.cross_entropy import cross_entropy
from labelnoise.losses.gce import GCELoss, gce

LOGITS = torch.tensor([[2.0, -1.0, 0.5]] * 3, dtype=torch.float64)
TARGET = torch.arange(3)

PUBLISHED = {
    1e-6: (0.2413112675, 3.2413060436, 1.7413097806),
    0.1: (0.2384230187, 2.7684459096, 1.5981328297),
    0.3: (0.2327836427, 2.0727439006, 1.3563355651),
    0.5: (0.2273217612, 1.6044620207, 1.1626460912),
    0.7: (0.2220310944, 1.2808228087, 1.0063574198),
    0.9: (0.2169055994, 1.0510155712, 0.8792970412),
    1.0: (0.2144029654, 0.9608874267, 0.8247096079),
}


@pytest.mark.parametrize(("q", "values"), PUBLISHED.items())
def test_values_are_the_published_ones(q: float, values: tuple[float, ...]) -> None:
    assert gce(LOGITS, TARGET, q).tolist() == pytest.approx(values, abs=1e-9)


def test_gradient_is_the_published_one() -> None:
    logits = LOGITS[:1].clone().requires_grad_()
    (grad,) = torch.autograd.grad(gce(logits, torch.tensor([2]), 0.7).sum(), logits)
    assert grad[0].tolist() == pytest.approx([0.2321830513, 0.0115597134, -0.2437427647], abs=1e-10)


def test_small_q_tends_to_cross_entropy() -> None:
    torch.testing.assert_close(gce(LOGITS, TARGET, 1e-9), cross_entropy(LOGITS, TARGET), rtol=1e-7, atol=0)


def test_q_of_one_is_one_minus_p() -> None:
    torch.testing.assert_close(gce(LOGITS, TARGET, 1.0), 1 - LOGITS.softmax(-1).diagonal(), rtol=1e-14, atol=0)


def test_gradient_goes_on_below_the_usual_clip() -> None:
    logits = torch.tensor([[20.0, 0.0]], dtype=torch.float64, requires_grad=True)  # p = 2e-9
    (grad,) = torch.autograd.grad(gce(logits, torch.tensor([1]), 0.1).sum(), logits)
    other, p = logits.detach().softmax(-1)[0].tolist()
    assert grad[0].tolist() == pytest.approx([p**0.1 * other, p**0.1 * (p - 1)], rel=1e-12)


@pytest.mark.parametrize("q", [0.0, -0.5, 1.5])
def test_module_refuses_q_outside_its_range(q: float) -> None:
    with pytest.raises(InputError, match="q must be above 0 and at most 1"):
        GCELoss(q)
