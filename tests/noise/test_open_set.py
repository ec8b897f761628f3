import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.noise import open_set, scrambled
from labelnoise.rng import uniforms

X = torch.arange(4000.0).reshape(2000, 2)
FOREIGN = -torch.arange(1.0, 101).reshape(50, 2)


def test_a_share_of_inputs_is_replaced_by_foreign_ones():
    x, replaced = open_set(X, 0.3, FOREIGN, seed=0)
    coin, target = uniforms(2000, 0, "noise-coin"), uniforms(2000, 0, "noise-target")
    for row in range(2000):
        expected = FOREIGN[int(target[row] * 50)] if coin[row] < 0.3 else X[row]
        assert torch.equal(x[row], expected)
        assert bool(replaced[row]) == (coin[row] < 0.3)


def test_arrays_come_back_as_arrays():
    x, replaced = open_set(X.numpy(), 0.3, FOREIGN.numpy(), seed=0)
    expected, rows = open_set(X, 0.3, FOREIGN, seed=0)
    assert isinstance(x, np.ndarray)
    assert (x == expected.numpy()).all()
    assert (replaced == rows.numpy()).all()


def test_open_set_noise_nests_across_rates():
    (low, few), (high, more) = (open_set(X, rate, FOREIGN, seed=0) for rate in (0.2, 0.4))
    assert torch.equal(low[few], high[few])
    assert not (few & ~more).any()


def test_inputs_that_came_in_stay_as_they_were():
    before = X.clone()
    open_set(X, 0.5, FOREIGN, seed=0)
    assert torch.equal(X, before)


def test_scrambled_inputs_are_alike_place_by_place_but_not_as_a_whole():
    x = torch.from_numpy(np.repeat(np.arange(200), 6).reshape(200, 3, 2).astype(np.uint8))  # all places of a row agree
    mixed = scrambled(x, 5000, seed=0)
    assert mixed.shape == (5000, 3, 2)
    assert mixed.dtype == torch.uint8
    flat = mixed.flatten(1).double()
    assert (flat.mean(0) - 99.5).abs().max() < 4 * 57.7 / 5000**0.5  # the deviation of 0 to 199
    together = torch.corrcoef(flat.T) - torch.eye(6, dtype=torch.float64)
    assert together.abs().max() < 5 / 5000**0.5


@pytest.mark.parametrize(
    ("rate", "foreign", "message"),
    [
        (1.0, FOREIGN, "a noise rate must be at least 0 and below 1, not 1.0"),
        (
            0.2,
            torch.zeros(4, 3),
            "foreign inputs must be float32 of shape (2,) as the others are, not float32 of shape (3,)",
        ),
        (
            0.2,
            torch.zeros(4, 2, dtype=torch.uint8),
            "foreign inputs must be float32 of shape (2,) as the others are, not uint8 of shape (2,)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(rate, foreign, message):
    with pytest.raises(InputError) as error:
        open_set(X, rate, foreign, seed=0)
    assert str(error.value) == message
