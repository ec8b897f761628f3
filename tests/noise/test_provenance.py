import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.data import Dataset, load
from labelnoise.errors import InputError
from labelnoise.noise import corrupt, load_corrupted, parse, save_corrupted

DIGITS = load("digits", 0)
NOISES = ["symmetric:0.4", "pair:0.3:exact", "instance:0.2", "score:0.3", "open_set:0.2", "annotators:0.3:worst"]


@pytest.mark.parametrize("text", NOISES)
def test_a_corrupted_data_set_comes_back_as_it_was(tmp_path, text):
    noise = parse(text, 10, "digits")
    written = save_corrupted(DIGITS, noise, tmp_path / "noisy.npz", seed=3)
    read, _ = load_corrupted(tmp_path / "noisy.npz")
    assert read.fingerprint == written.fingerprint == corrupt(DIGITS, noise, seed=3).fingerprint
    assert read.encoding == DIGITS.encoding


@pytest.mark.parametrize("text", NOISES)
def test_provenance_tells_definition_seed_and_both_rates(tmp_path, text):
    noise = parse(text, 10, "digits")
    noisy = save_corrupted(DIGITS, noise, tmp_path / "noisy.npz", seed=3)
    _, found = load_corrupted(tmp_path / "noisy.npz")
    assert (found.definition, found.seed) == (noise.definition, 3)
    assert found.realised_rate == noisy.noise_rate
    assert abs(found.nominal_rate - found.realised_rate) < 4 * (0.25 / len(DIGITS)) ** 0.5


def test_the_realised_matrix_is_counted_from_labels(tmp_path):
    noisy = save_corrupted(DIGITS, parse("symmetric:0.4", 10), tmp_path / "noisy.npz", seed=3)
    counts = np.zeros((10, 10))
    for true, given in zip(noisy.y_true.tolist(), noisy.y_given.tolist(), strict=True):
        counts[true, given] += 1
    np.testing.assert_allclose(
        load_corrupted(tmp_path / "noisy.npz")[1].T_realised, counts / counts.sum(1, keepdims=True)
    )


def test_rows_kept_for_the_test_stay_clean(tmp_path):
    kept = replace(DIGITS, test=torch.arange(1000, len(DIGITS)))
    noisy = save_corrupted(kept, parse("symmetric:0.4", 10), tmp_path / "noisy.npz", seed=0)
    assert torch.equal(noisy.y_given[1000:], DIGITS.y_given[1000:])
    read, found = load_corrupted(tmp_path / "noisy.npz")
    assert torch.equal(read.test, kept.test)
    assert found.realised_rate == (noisy.y_given != noisy.y_true)[:1000].double().mean().item()


def test_a_class_without_rows_has_no_shares(tmp_path):
    data = Dataset.from_arrays(np.zeros((10, 1)), np.arange(10) % 2, classes=("a", "b", "c"))
    save_corrupted(data, parse("symmetric:0.2", 3), tmp_path / "noisy.npz", seed=0)
    assert load_corrupted(tmp_path / "noisy.npz")[1].T_realised[2] == [0, 0, 0]
    assert "NaN" not in (tmp_path / "noisy.json").read_text()


@pytest.mark.parametrize("name", ["definition", "seed", "nominal_rate", "realised_rate", "T_realised"])
def test_a_file_without_provenance_is_refused(tmp_path, name):
    save_corrupted(DIGITS, parse("symmetric:0.4", 10), tmp_path / "noisy.npz", seed=0)
    head = json.loads((tmp_path / "noisy.json").read_text())
    del head[name]
    (tmp_path / "noisy.json").write_text(json.dumps(head))
    with pytest.raises(InputError) as error:
        load_corrupted(tmp_path / "noisy.npz")
    assert str(error.value) == f"{tmp_path / 'noisy.json'} does not say how labels came about, no '{name}'"


def test_a_rate_that_labels_do_not_have_is_refused(tmp_path):
    save_corrupted(DIGITS, parse("symmetric:0.4", 10), tmp_path / "noisy.npz", seed=0)
    head = json.loads((tmp_path / "noisy.json").read_text())
    (tmp_path / "noisy.json").write_text(json.dumps(head | {"realised_rate": 0.4}))
    with pytest.raises(InputError, match="have another noise rate than beside it; restore both files"):
        load_corrupted(tmp_path / "noisy.npz")
