import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy import stats

from labelnoise.rng import Rng, hashed, normals, seeded_init, uniforms


def test_hashed_depends_on_every_part_and_on_its_type():
    keys = [(0,), (1,), ("1",), (1, "a"), ("a", 1), ("ab", "c"), ("a", "bc"), (1, "a", 0)]
    assert len({hashed(*key) for key in keys}) == len(keys)


def test_hashed_is_the_first_63_bits_of_blake2b():
    digest = hashlib.blake2b(b"(3, 'order')", digest_size=8).digest()
    assert hashed(3, "order") == int.from_bytes(digest, "little") >> 1 == 663951810883044745


@pytest.mark.parametrize("draw", ["normal", "uniform", "permutation", "integers", "beta"])
def test_a_stream_is_found_by_its_name_alone(draw):
    def drawn(*key):
        args = {"integers": (1000, 8), "beta": (2.0, 2.0)}.get(draw, (8,))
        return getattr(Rng(*key), draw)(*args)

    torch.manual_seed(1)
    first = drawn(0, "draws", 5)
    torch.rand(3)
    assert torch.equal(first, drawn(0, "draws", 5))
    assert not torch.equal(first, drawn(1, "draws", 5))
    assert not torch.equal(first, drawn(0, "draws", 6))


def test_a_stream_goes_on_from_draw_to_draw():
    rng = Rng(0, "a")
    assert not torch.equal(rng.uniform(4), rng.uniform(4))


def test_draws_have_the_asked_type_and_range():
    rng = Rng(0, "a", dtype=torch.float64)
    assert rng.normal(2, 3).dtype == rng.uniform(2).dtype == rng.beta(1.0, 1.0).dtype == torch.float64
    assert set(rng.integers(3, 100).tolist()) == {0, 1, 2}
    assert sorted(rng.permutation(9).tolist()) == list(range(9))


def philox(key, block):
    """Philox 4x64-10 of Salmon et al. 2011, in whole numbers."""
    a, b, c, d = block, 0, 0, 0
    key = [key, 0]
    for _ in range(10):
        left, right = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (right >> 64) ^ b ^ key[0], right, (left >> 64) ^ d ^ key[1], left
        a, b, c, d = (word % 2**64 for word in (a, b, c, d))
        key = [(key[0] + 0x9E3779B97F4A7C15) % 2**64, (key[1] + 0xBB67AE8584CAA73B) % 2**64]
    return [a, b, c, d]


def test_uniforms_are_words_of_philox_cut_to_53_bits():
    words = [word for block in (1, 2, 3) for word in philox(hashed(0, "noise-coin"), block)]
    assert uniforms(12, 0, "noise-coin").tolist() == [(word >> 11) / 2**53 for word in words]


def test_an_entry_of_uniforms_does_not_depend_on_how_many_are_drawn():
    assert np.array_equal(uniforms(1001, 3, "a")[:10], uniforms(10, 3, "a"))


def test_uniforms_fill_the_unit_interval_evenly():
    draws = uniforms(100_000, 1, "a")
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = np.histogram(draws, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 10_000).max() < 4 * np.sqrt(100_000 * 0.1 * 0.9)


def test_normals_are_quantiles_of_uniforms_on_a_grid():
    expected = np.round(stats.norm.ppf(uniforms(1000, 1, "a") + 2.0**-54) * 2**20) / 2**20
    assert normals(1000, 1, "a").tolist() == expected.tolist()


def test_normals_have_mean_0_and_deviation_1():
    draws = normals(100_000, 1, "a")
    assert abs(draws.mean().item()) < 4 / 100_000**0.5
    assert abs(draws.std().item() - 1) < 4 / 200_000**0.5


def test_seeded_init_repeats_and_leaves_the_global_generator_alone():
    def weights():
        with seeded_init(0, "init"):
            return torch.nn.Linear(3, 2).weight.detach()

    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    first = weights()
    assert torch.equal(torch.rand(2), expected)
    assert torch.equal(first, weights())


def test_threads_make_the_weights_that_they_would_make_alone():
    def weights(seed):
        made = []
        with seeded_init(seed, "init"):
            for _ in range(5):
                made.append(torch.nn.Linear(3, 2).weight.detach())
                time.sleep(0.001)  # in which other threads go on
        return made

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(weights, range(4)))
    for seed, made in enumerate(found):
        assert all(map(torch.equal, made, weights(seed)))
