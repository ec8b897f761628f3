import math

import pytest
import torch

from labelnoise.config import Optimiser
from labelnoise.engine.lars import LARS
from labelnoise.engine.optim import Updater

SETTINGS = Optimiser("lars", lr=0.3, momentum=0.9, weight_decay=0.1, trust=0.05)


def numbers(*size, seed=0):
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def by_hand(weights, steps, adapted):
    """The paper's algorithm on flat lists of numbers."""
    w, v = list(weights), [0.0] * len(weights)
    for g in steps:
        norm_w, norm_g = math.sqrt(sum(each**2 for each in w)), math.sqrt(sum(each**2 for each in g))
        rate, decay = (0.05 * norm_w / (norm_g + 0.1 * norm_w), 0.1) if adapted and norm_w * norm_g else (1.0, 0.0)
        if adapted:
            decay = 0.1
        v = [0.9 * vi + 0.3 * rate * (gi + decay * wi) for vi, gi, wi in zip(v, g, w, strict=True)]
        w = [wi - vi for wi, vi in zip(w, v, strict=True)]
    return torch.tensor(w, dtype=torch.float64)


def updated(start, grads, *, runs=None, skips=False, active=None):
    param = start.clone()
    updater = Updater({"net": {"w": param}}, SETTINGS, {}, runs=runs, skips=skips)
    for step, grad in enumerate(grads):
        updater.step({"w": grad}, {} if active is None else {"net": active[step]})
    return param


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2, 2)])
def test_weights_follow_the_paper(shape):
    start, grads = numbers(*shape), numbers(5, *shape, seed=1)
    expected = by_hand(start.flatten().tolist(), grads.flatten(1).tolist(), adapted=True)
    torch.testing.assert_close(updated(start, grads).flatten(), expected, rtol=0, atol=1e-12)


def test_biases_have_neither_a_rate_of_their_own_nor_decay():
    start, grads = numbers(6), numbers(5, 6, seed=1)
    expected = by_hand(start.tolist(), grads.tolist(), adapted=False)
    torch.testing.assert_close(updated(start, grads), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("nothing", ["weights", "gradient"])
def test_where_a_norm_is_zero_the_rate_is_one(nothing):
    start, grads = numbers(3, 4), numbers(3, 3, 4, seed=1)
    if nothing == "weights":
        start = torch.zeros_like(start)
    else:
        grads[0] = 0
    expected = by_hand(start.flatten().tolist(), grads.flatten(1).tolist(), adapted=True)
    torch.testing.assert_close(updated(start, grads).flatten(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (5,)])
def test_runs_of_a_pack_have_rates_of_their_own(shape, skips):
    start, grads = numbers(4, *shape), numbers(5, 4, *shape, seed=1)
    alone = torch.stack([updated(start[run], grads[:, run]) for run in range(4)])
    torch.testing.assert_close(updated(start, grads, runs=4, skips=skips), alone, rtol=0, atol=1e-12)


def test_a_step_that_is_left_out_changes_nothing():
    start, grads = numbers(3, 4), numbers(4, 3, 4, seed=1)
    flags = [torch.tensor(flag) for flag in (1.0, 0.0, 1.0, 1.0)]
    found = updated(start, grads, skips=True, active=flags)
    torch.testing.assert_close(found, updated(start, grads[[0, 2, 3]]), rtol=0, atol=1e-12)


def test_the_state_can_be_kept_and_put_back():
    start, grads = numbers(3, 4), numbers(4, 3, 4, seed=1)
    first = Updater({"net": {"w": (param := start.clone())}}, SETTINGS, {})
    for grad in grads[:2]:
        first.step({"w": grad}, {})
    second = Updater({"net": {"w": (other := param.clone())}}, SETTINGS, {})
    for name, (place,) in second.places().items():
        place.copy_(first.places()[name][0])
    for grad in grads[2:]:
        second.step({"w": grad}, {})
    assert torch.equal(other, updated(start, grads))


def test_a_rate_that_lies_on_the_device_counts_alike():
    start, grads = numbers(3, 4), numbers(4, 3, 4, seed=1)
    param = start.clone()
    updater = Updater({"net": {"w": param}}, SETTINGS, {})
    updater.groups[0]["lr"] = torch.tensor(SETTINGS.lr, dtype=torch.float64)
    for grad in grads:
        updater.step({"w": grad}, {})
    assert isinstance(updater.groups[0]["lr"], torch.Tensor)
    torch.testing.assert_close(param, updated(start, grads), rtol=0, atol=1e-12)


def test_a_closure_is_called_and_its_loss_given_back():
    param = numbers(3, 4).requires_grad_()
    optimiser = LARS([{"params": [param]}], lr=0.1)

    def closure():
        param.grad = torch.ones_like(param)
        return 2.5

    before = param.detach().clone()
    assert optimiser.step(closure) == 2.5
    assert not torch.equal(param, before)


def test_large_weights_move_in_proportion_to_their_size():
    grads = numbers(1, 3, 4, seed=1)
    moves = []
    for size in (1.0, 100.0):
        start, param = size * numbers(3, 4), None
        param = start.clone()
        Updater({"net": {"w": param}}, Optimiser("lars", lr=1.0, trust=0.01), {}).step({"w": grads[0]}, {})
        moves.append(float((param - start).norm() / start.norm()))
    assert moves == pytest.approx([0.01, 0.01], rel=1e-9)
