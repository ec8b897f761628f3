import numpy as np
import pytest
import torch
from torch.func import functional_call, vmap

from labelnoise.errors import InputError
from labelnoise.nets import Dropout, build
from labelnoise.nets.dropout import Window, random_words


def seeded(rate: float, seed: int) -> Dropout:
    dropout = Dropout(rate).train()
    dropout.seed = torch.tensor(seed)
    return dropout


def mixed(word: np.ndarray) -> np.ndarray:
    """lowbias32 in unsigned arithmetic of 32 bits, which wraps by itself."""
    word = word.astype(np.uint32)
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> np.uint32(15))) * np.uint32(0x846CA68B)
    return word ^ (word >> np.uint32(16))


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63 - 1, 0x123456789ABCDEF])
def test_words_are_the_hash_in_unsigned_arithmetic(seed: int) -> None:
    n = 10_000
    low, high = (np.array([half], dtype=np.uint32) for half in (seed & 0xFFFFFFFF, seed >> 32))
    expected = mixed(mixed(np.arange(n, dtype=np.uint32) + low) + mixed(mixed(low) ^ high))
    assert np.array_equal(random_words(torch.tensor(seed), n).numpy(), expected.astype(np.int64))


def test_words_can_begin_anywhere() -> None:
    seed = torch.tensor(0x123456789ABCDEF)
    assert torch.equal(random_words(seed, 5, 3), random_words(seed, 8)[3:])


@pytest.mark.parametrize("blocks", [1, 3])
def test_rows_in_a_window_have_the_masks_that_they_have_in_the_whole(blocks: int) -> None:
    x, dropout = torch.ones(blocks, 7, 4, 2), seeded(0.5, 5)
    whole = dropout(x.flatten(0, 1)).reshape(x.shape)
    dropout.window = Window(first=2, own=3, rows=7)
    own = dropout(x[:, 2:5].flatten(0, 1))
    assert torch.equal(own, whole[:, 2:5].flatten(0, 1))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_keep_rate_lies_in_its_binomial_band(rate: float) -> None:
    n = 200_000
    kept = sum(int(seeded(rate, seed)(torch.ones(n)).count_nonzero()) for seed in range(5))
    assert abs(kept - 5 * n * (1 - rate)) < 4 * (5 * n * rate * (1 - rate)) ** 0.5


def test_mean_is_preserved() -> None:
    x = torch.rand(200_000, dtype=torch.float64)
    out = seeded(0.3, 11)(x)
    spread = (x.square().sum() * 0.3 / 0.7).sqrt()  # of the sum of the output, given x
    assert abs(out.sum() - x.sum()) < 4 * spread


def test_kept_elements_are_enlarged_and_the_others_zero() -> None:
    x = torch.rand(40, 50, dtype=torch.float64) + 1
    out = seeded(0.2, 3)(x)
    torch.testing.assert_close(out[out != 0], (x / 0.8)[out != 0], rtol=1e-12, atol=0)


def test_neighbouring_elements_are_uncorrelated() -> None:
    n = 200_000
    mask = seeded(0.5, 8)(torch.ones(n, dtype=torch.float64)) - 1
    for lag in (1, 2, 3, 50, 512):
        assert abs((mask[lag:] * mask[:-lag]).mean()) < 4 / (n - lag) ** 0.5


@pytest.mark.parametrize("other", [1, 2**32, 2**32 + 1])
def test_different_seeds_give_unrelated_masks(other: int) -> None:
    n = 200_000
    first, second = (seeded(0.5, seed)(torch.ones(n, dtype=torch.float64)) - 1 for seed in (0, other))
    for lag in (0, 1):
        assert abs((first[lag:] * second[: n - lag]).mean()) < 4 / (n - lag) ** 0.5


def test_the_same_seed_gives_the_same_mask_in_every_pass() -> None:
    dropout, x = seeded(0.5, 4), torch.randn(30, 20)
    assert torch.equal(dropout(x), dropout(x))


def test_packed_masks_equal_lonely_ones_bit_for_bit() -> None:
    seeds = torch.tensor([3, 2**62 + 1, 77])
    x = torch.randn(3, 16, 33)
    dropout = Dropout(0.4).train()
    packed = vmap(lambda seed, x: functional_call(dropout, {"seed": seed}, (x,)))(seeds, x)
    assert torch.equal(packed, torch.stack([seeded(0.4, int(seed))(row) for seed, row in zip(seeds, x, strict=True)]))


def test_low_precision_stays_low() -> None:
    assert seeded(0.5, 1)(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_evaluation_leaves_inputs_alone() -> None:
    x = torch.randn(5, 6)
    assert seeded(0.5, 1).eval()(x) is x


def test_without_a_seed_torch_draws_the_mask() -> None:
    dropout, x = Dropout(0.5).train(), torch.randn(100)
    torch.manual_seed(0)
    out = dropout(x)
    torch.manual_seed(0)
    assert torch.equal(out, torch.nn.functional.dropout(x, 0.5))


def test_the_seed_is_not_part_of_a_saved_state() -> None:
    net = build("cnn_mnist", (1, 28, 28), 10)
    for module in net.modules():
        if isinstance(module, Dropout):
            module.seed = torch.tensor(1)
    assert not [key for key in net.state_dict() if key.endswith("seed")]


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_impossible_rates_are_refused(rate: float) -> None:
    with pytest.raises(InputError, match=f"not {rate}"):
        Dropout(rate)


def test_printing_shows_the_rate() -> None:
    assert repr(Dropout(0.5)) == "Dropout(rate=0.5)"
