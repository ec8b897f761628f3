import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelnoise.config import Data
from labelnoise.data import Dataset, load, saved
from labelnoise.data.own import read
from labelnoise.errors import InputError

X = torch.arange(24, dtype=torch.uint8).reshape(4, 1, 2, 3)
FULL = Dataset(
    "small",
    X,
    torch.tensor([0, 1, 1, 0]),
    torch.tensor([0, 1, 0, -1]),
    ("cat", "d\u00f6g"),
    ("a", "b", "c", "d"),
    torch.tensor([3]),
    ("a note",),
    {"kind": "images", "shape": [1, 2, 3], "resize": 0},
)


@pytest.fixture
def path(tmp_path):
    saved.save(FULL, tmp_path / "small.npz", {"seed": 5})
    return tmp_path / "small.npz"


def test_everything_comes_back(path):
    found, facts = saved.load(path)
    assert found.fingerprint == FULL.fingerprint
    for name in ("name", "classes", "ids", "notes", "encoding"):
        assert getattr(found, name) == getattr(FULL, name)
    assert facts["seed"] == 5


@pytest.mark.parametrize("changes", [{"y_true": None}, {"test": None}, {"x": X.float() / 7}])
def test_what_is_not_there_stays_away(tmp_path, changes):
    data = replace(FULL, **changes)
    saved.save(data, tmp_path / "other.npz", {})
    found, _ = saved.load(tmp_path / "other.npz")
    assert found.fingerprint == data.fingerprint
    assert (found.y_true is None, found.test is None) == (data.y_true is None, data.test is None)


def test_arrays_are_open_to_numpy_alone(path):
    with np.load(path, allow_pickle=False) as file:
        assert set(file.files) == {"x", "y", "y_true", "ids", "classes", "test"}
        assert (file["x"] == X.numpy()).all()


def test_a_saved_data_set_is_read_as_ones_own_data_unchanged(path):
    assert read(path).fingerprint == read(str(path)).fingerprint == FULL.fingerprint


def test_an_array_file_with_some_other_json_beside_it_is_no_saved_data_set(tmp_path):
    np.savez(tmp_path / "mine.npz", x=np.zeros((4, 2)), y=[0, 1, 0, 1])
    (tmp_path / "mine.json").write_text("[1, 2]")
    assert not saved.is_saved(tmp_path / "mine.npz")
    assert len(read(tmp_path / "mine.npz")) == 4


@pytest.mark.parametrize("name", ["x", "y", "y_true", "ids", "classes", "test"])
def test_an_array_that_has_changed_is_named(path, name):
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = arrays[name].copy()
    arrays[name].flat[0] = "z" if arrays[name].dtype.kind == "U" else arrays[name].flat[0] + 1
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=f"is not what was saved: {name} hashes otherwise"):
        saved.load(path)


def test_another_type_of_numbers_is_a_change(path):
    with np.load(path) as file:
        np.savez(path, **(dict(file) | {"y": np.array([0, 1, 1, 0], np.int32)}))
    with pytest.raises(InputError, match="y hashes otherwise"):
        saved.load(path)


def test_a_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"small\.npz is damaged or does not belong to the \.json beside it"):
        saved.load(path)


@pytest.mark.parametrize("content", [None, "", "{}", '{"format": "other"}'])
def test_a_missing_or_foreign_json_is_refused(path, content):
    beside = path.with_suffix(".json")
    beside.unlink() if content is None else beside.write_text(content)
    with pytest.raises(InputError, match=r"small\.json says nothing of a saved data set"):
        saved.load(path)


def test_the_hash_of_labels_is_that_of_their_bytes(path):
    content = hashlib.sha256(b"('<i8', (4,))" + np.array([0, 1, 1, 0], "<i8").tobytes()).hexdigest()
    assert json.loads(path.with_suffix(".json").read_text())["sha256"]["y"] == content


def test_a_name_that_does_not_end_in_npz_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"choose a name that ends in \.npz"):
        saved.save(FULL, tmp_path / "small.csv", {})


def test_settings_of_tables_do_not_fit_a_saved_data_set(path):
    with pytest.raises(InputError, match="label_column is for tables"):
        read(path, Data(label_column="y"))


def test_large_sets_are_saved_too(tmp_path):
    digits = load("digits", 0)
    saved.save(digits, tmp_path / "digits.npz", {})
    assert saved.load(tmp_path / "digits.npz")[0].fingerprint == digits.fingerprint
