import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from labelnoise.config import Data
from labelnoise.data import Dataset, load, saved
from labelnoise.data.own import read, read_inputs
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
        assert set(file.files) == {"x", "y", "y_true", "ids", "classes", "test", "json_sha256"}
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
    with pytest.raises(InputError, match=f"is not what was saved: {name} has changed; restore it"):
        saved.load(path)


def test_another_type_of_numbers_is_a_change(path):
    with np.load(path) as file:
        np.savez(path, **(dict(file) | {"y": np.array([0, 1, 1, 0], np.int32)}))
    with pytest.raises(InputError, match="y has changed"):
        saved.load(path)


def test_a_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"small\.npz is damaged or no saved data set; restore it"):
        saved.load(path)


@pytest.mark.parametrize("reader", [read, saved.load])
def test_without_its_json_a_saved_data_set_is_not_read(path, reader):
    path.with_suffix(".json").unlink()
    with pytest.raises(InputError, match=r"needs the \.json it was saved with; put it beside it as small\.json"):
        reader(path)


@pytest.mark.parametrize("reader", [read, saved.load])
@pytest.mark.parametrize("content", ["", "{", "{}", '{"format": "other"}'])
def test_another_json_is_refused(path, content, reader):
    path.with_suffix(".json").write_text(content)
    with pytest.raises(InputError, match=r"small\.json is not what was saved with small\.npz; restore it"):
        reader(path)


@pytest.mark.parametrize("content", ["{}", "[]", json.dumps({"format": saved.FORMAT, "name": "a"})])
def test_a_json_that_was_made_by_hand_is_refused(path, content):
    path.with_suffix(".json").write_text(content)
    with np.load(path) as file:
        held = dict(file) | {"json_sha256": np.array(hashlib.sha256(content.encode()).hexdigest())}
    np.savez(path, **held)
    with pytest.raises(InputError, match=r"small\.json is not of the format 'labelnoise data set, version 1'"):
        saved.load(path)


def test_an_npz_that_has_lost_its_mark_is_refused(path):
    with np.load(path) as file:
        np.savez(path, **{key: file[key] for key in file.files if key != "json_sha256"})
    with pytest.raises(InputError, match=r"small\.npz is damaged or no saved data set; restore it"):
        read(path)


@pytest.mark.parametrize("labels", [{"y": np.arange(4)}, {"y_true": np.arange(4)}])
def test_other_labels_for_a_saved_data_set_are_refused(path, labels):
    with pytest.raises(InputError, match="carries its own labels; y and y_true go with arrays and DataFrames"):
        read(path, **labels)


def test_a_saved_data_set_gives_a_model_its_inputs_as_they_were(tmp_path):
    table = np.random.default_rng(0).normal(100, 5, (30, 2))
    np.savez(tmp_path / "mine.npz", x=table, y=np.arange(30) % 2)
    mine = read(tmp_path / "mine.npz")
    saved.save(mine, tmp_path / "saved.npz", {})
    assert mine.encoding["mean"][0] > 90
    assert torch.equal(read_inputs(tmp_path / "saved.npz", mine.encoding).x, mine.x)
    assert torch.equal(read_inputs(tmp_path / "mine.npz", mine.encoding).x, mine.x)


@pytest.mark.parametrize("name", ["test", "y_true"])
def test_an_array_that_is_gone_is_missed(path, name):
    with np.load(path) as file:
        np.savez(path, **{key: file[key] for key in file.files if key != name})
    with pytest.raises(InputError, match="has other arrays than were saved in it; restore it"):
        saved.load(path)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"there is no file 'nowhere\.npz'"):
        saved.load(Path("nowhere.npz"))


@pytest.mark.parametrize("there", ["other.npz", "other.json"])
def test_a_file_that_is_there_stays(tmp_path, there):
    (tmp_path / there).write_text("precious")
    with pytest.raises(InputError, match="exists; choose another name, or replace it with force=True"):
        saved.save(FULL, tmp_path / "other.npz", {})
    assert (tmp_path / there).read_text() == "precious"


def test_what_is_known_of_truth_and_origin_comes_back(tmp_path):
    saved.save(replace(FULL, assumed=True, known_as="digits"), tmp_path / "other.npz", {})
    found, _ = saved.load(tmp_path / "other.npz")
    assert (found.assumed, found.known_as) == (True, "digits")


def test_the_hash_of_labels_is_that_of_their_bytes(path):
    content = hashlib.sha256(b"('<i8', (4,))" + np.array([0, 1, 1, 0], "<i8").tobytes()).hexdigest()
    assert json.loads(path.with_suffix(".json").read_text())["sha256"]["y"] == content


def test_a_name_that_does_not_end_in_npz_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"choose a name that ends in \.npz"):
        saved.save(FULL, tmp_path / "small.csv", {})


def test_settings_of_tables_do_not_fit_a_saved_data_set(path):
    with pytest.raises(InputError, match="--label-column is for tables"):
        read(path, Data(label_column="y"))


def test_large_sets_are_saved_too(tmp_path):
    digits = load("digits", 0)
    saved.save(digits, tmp_path / "digits.npz", {})
    assert saved.load(tmp_path / "digits.npz")[0].fingerprint == digits.fingerprint
