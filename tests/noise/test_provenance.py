import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.data import Dataset, load, saved
from labelnoise.errors import InputError
from labelnoise.noise import Provenance, corrupt, load_corrupted, parse, save_corrupted

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


def test_the_matrix_that_labels_were_drawn_by_is_kept(tmp_path):
    (tmp_path / "T.csv").write_text("0.9,0.1\n0.3,0.7\n")
    data = Dataset.from_arrays(np.zeros((100, 1)), np.arange(100) % 2)
    save_corrupted(data, parse(f"matrix:{tmp_path / 'T.csv'}", 2), tmp_path / "noisy.npz", seed=0)
    (tmp_path / "T.csv").unlink()
    assert load_corrupted(tmp_path / "noisy.npz")[1].T == [[0.9, 0.1], [0.3, 0.7]]


def test_noise_upon_noise_tells_the_rate_before(tmp_path):
    once = save_corrupted(DIGITS, parse("score:0.3", 10), tmp_path / "once.npz", seed=0)
    twice = save_corrupted(once, parse("pair:0.2", 10), tmp_path / "twice.npz", seed=0)
    _, found = load_corrupted(tmp_path / "twice.npz")
    assert (found.rate_before, found.realised_rate) == (once.noise_rate, twice.noise_rate)
    assert load_corrupted(tmp_path / "once.npz")[1].rate_before == 0


def test_labels_before_noise_stay_a_mere_assumption(tmp_path):
    data = Dataset.from_arrays(np.zeros((100, 1)), np.arange(100) % 2)
    save_corrupted(data, parse("symmetric:0.2", 2), tmp_path / "noisy.npz", seed=0)
    read, found = load_corrupted(tmp_path / "noisy.npz")
    assert read.assumed
    assert found.rate_before is None
    assert not save_corrupted(DIGITS, parse("symmetric:0.2", 10), tmp_path / "known.npz", seed=0).assumed


def test_data_without_noise_and_truth_can_be_saved(tmp_path):
    data = Dataset.from_arrays(np.zeros((100, 1)), np.arange(100) % 2)
    save_corrupted(data, parse("none", 2), tmp_path / "plain.npz", seed=0)
    read, found = load_corrupted(tmp_path / "plain.npz")
    assert read.y_true is None
    assert (found.nominal_rate, found.realised_rate, found.T_realised) == (0, None, None)
    assert read.notes == ()


@pytest.mark.parametrize("there", ["noisy.npz", "noisy.json"])
def test_a_file_that_is_there_is_replaced_by_force_only(tmp_path, there):
    (tmp_path / there).write_text("precious")
    with pytest.raises(InputError, match="exists; choose another name, or replace it with force=True"):
        save_corrupted(DIGITS, parse("pair:0.2", 10), tmp_path / "noisy.npz", seed=0)
    assert (tmp_path / there).read_text() == "precious"
    save_corrupted(DIGITS, parse("pair:0.2", 10), tmp_path / "noisy.npz", seed=0, force=True)
    assert load_corrupted(tmp_path / "noisy.npz")[1].definition == "pair:0.2"


@pytest.mark.parametrize("name", Provenance._fields)
def test_provenance_that_has_changed_is_refused(tmp_path, name):
    save_corrupted(DIGITS, parse("symmetric:0.4", 10), tmp_path / "noisy.npz", seed=0)
    head = json.loads((tmp_path / "noisy.json").read_text())
    head[name] = "other"
    (tmp_path / "noisy.json").write_text(json.dumps(head))
    with pytest.raises(InputError, match=r"noisy\.json is not what was saved with noisy\.npz; restore it"):
        load_corrupted(tmp_path / "noisy.npz")


def test_a_data_set_that_was_saved_without_noise_says_so(tmp_path):
    saved.save(DIGITS, tmp_path / "plain.npz", {})
    with pytest.raises(InputError, match="was saved without saying how its labels came about, no definition"):
        load_corrupted(tmp_path / "plain.npz")
