import numpy as np
import pytest

from labelnoise.data import read
from labelnoise.errors import InputError
from labelnoise.reviewing.clean_arrays import check_free, write_npz, write_with_labels
from labelnoise.reviewing.corrections import Decisions
from labelnoise.reviewing.outcome import outcome


def cleaned(source, decisions, mode, tmp_path):
    out = tmp_path / "cleaned.npz"
    write = write_npz if source.path.suffix == ".npz" else write_with_labels
    write(source.path, source, outcome(source.dataset, decisions, mode), out)
    with np.load(out, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def test_relabelling_changes_one_number_and_nothing_else(arrays, tmp_path):
    found, before = cleaned(arrays, Decisions({0: 2}, {}), "relabel", tmp_path), np.load(arrays.path)
    assert set(found) == set(before.files)
    assert np.flatnonzero(found["y"] != before["y"]).tolist() == [0]
    assert found["y"][0] == 2
    assert found["y"].dtype == before["y"].dtype
    assert all((found[name] == before[name]).all() for name in found if name != "y")


def test_dropping_shortens_every_array_that_has_a_row_for_each_row(arrays, tmp_path):
    found = cleaned(arrays, Decisions({1: 2}, {}), "drop", tmp_path)
    assert {name: len(found[name]) for name in found} == {"x": 29, "y": 29, "extra": 29, "classes": 3, "other": 2}
    assert 1 not in found["extra"]


def test_weights_are_an_array(arrays, tmp_path):
    found = cleaned(arrays, Decisions({1: 2, 2: 2}, dict.fromkeys(range(30), 0.0) | {0: 0.75}), "weight", tmp_path)
    assert found["label_weight"][:4].tolist() == [0.25, 0, 1, 1]


def test_an_array_of_weights_that_is_there_is_not_written_over(tmp_path):
    np.savez(
        tmp_path / "w.npz", x=np.random.default_rng(0).normal(size=(4, 2)), y=[0, 1, 0, 1], label_weight=[1, 1, 1, 1]
    )
    with pytest.raises(InputError, match="has an array 'label_weight' already"):
        check_free(tmp_path / "w.npz")


@pytest.mark.parametrize("y", [np.array(["a", "bb", "a", "bb"]), np.array([True, False] * 2), np.array([1.0, 7.0] * 2)])
def test_labels_without_a_list_of_classes_keep_their_type(y, tmp_path, source_of):
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).normal(size=(4, 2)), y=y)
    source = source_of(tmp_path / "t.npz")
    other = 1 - int(source.dataset.y_given[0])
    found = cleaned(source, Decisions({0: other}, {}), "relabel", tmp_path)["y"]
    assert found.dtype == y.dtype
    assert found.tolist() == [y[1], y[1], y[2], y[3]]


def test_rows_without_a_label_stay(tmp_path, source_of):
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).normal(size=(5, 2)), y=[1, np.nan, 2, 1, 2])
    found = cleaned(source_of(tmp_path / "t.npz"), Decisions({1: 0}, {}), "drop", tmp_path)["y"]
    assert [str(label) for label in found] == ["1.0", "nan", "1.0", "2.0"]


def test_parts_are_cleaned_apart(tmp_path, source_of):
    x = np.random.default_rng(0).normal(size=(6, 2))
    np.savez(tmp_path / "p.npz", x_train=x[:4], y_train=[0, 1, 0, 1], x_test=x[4:], y_test=[0, 1])
    source = source_of(tmp_path / "p.npz")
    found = cleaned(source, Decisions({1: 0, 5: 0}, {}), "drop", tmp_path)
    assert {name: len(found[name]) for name in found} == {"x_train": 3, "y_train": 3, "x_test": 1, "y_test": 1}
    found = cleaned(source, Decisions({1: 0, 5: 0}, {}), "relabel", tmp_path)
    assert (found["y_train"].tolist(), found["y_test"].tolist()) == ([0, 0, 0, 1], [0, 0])


def test_labels_of_an_npy_file_keep_their_type_and_rows_without_one_stay(tmp_path, source_of):
    np.save(tmp_path / "x.npy", np.eye(5))
    np.save(tmp_path / "y.npy", np.array([3, -1, 5, 3, 5]))
    source = source_of(tmp_path / "x.npy", labels=str(tmp_path / "y.npy"))
    found = cleaned(source, Decisions({0: 1}, {}), "relabel", tmp_path)
    assert (found["y"].dtype, found["y"].tolist()) == (np.int64, [5, -1, 5, 3, 5])
    assert found["ids"].tolist() == list("01234")


def test_inputs_and_labels_of_two_files_become_one(tmp_path, source_of):
    x = np.random.default_rng(0).normal(size=(4, 2))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "y.csv").write_text("a\nb\na\nb\n")
    source = source_of(tmp_path / "x.npy", labels=str(tmp_path / "y.csv"))
    found = cleaned(source, Decisions({1: 0}, {}), "drop", tmp_path)
    assert found["x"].tolist() == x[[0, 2, 3]].tolist()
    again = read(tmp_path / "cleaned.npz")
    assert [again.classes[label] for label in again.y_given] == ["a", "a", "b"]
    assert again.ids == ("0", "2", "3")
