import importlib.util

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from labelnoise.config import Data
from labelnoise.data import read, read_inputs
from labelnoise.data.factor import Origin
from labelnoise.data.table import from_frame
from labelnoise.errors import InputError

FRAME = pd.DataFrame({"name": ["u", "v", "w"], "a": [1, 2, 3], "truth": ["x", "x", "y"], "label": ["x", "y", "y"]})
ALL = Data(true_label_column="truth", id_column="name")


def test_label_truth_and_id_are_no_inputs():
    data = read(FRAME, ALL)
    assert [column["name"] for column in data.encoding["columns"]] == ["a"]
    assert data.ids == ("u", "v", "w")
    assert data.y_given.tolist() == [0, 1, 1]
    assert data.y_true.tolist() == [0, 0, 1]


def test_a_file_says_the_same_as_its_table(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    data, other = read(FRAME, ALL), read(tmp_path / "t.csv", ALL)
    assert data.fingerprint == other.fingerprint
    assert data.encoding == other.encoding


def test_labels_of_a_file_are_taken_as_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,01\n2,1\n3,2\n")
    assert read(tmp_path / "t.csv", Data(label_column="y")).classes == ("01", "1", "2")


def test_columns_that_are_dropped_are_no_inputs():
    data = read(FRAME, Data(drop=("name", "truth")))
    assert [column["name"] for column in data.encoding["columns"]] == ["a"]


def test_rows_are_numbered_as_in_the_table_even_if_some_have_no_label():
    data = read(FRAME.assign(label=["x", None, "y"]))
    assert data.ids == ("0", "2")
    assert data.notes == (
        "inputs are made of 3 columns: name, truth (texts); a (numbers)",
        "1 row without a label is left out",
    )


def test_rows_without_a_label_count_towards_the_mean():
    data = read(FRAME.assign(label=["x", "y", None]), Data(drop=("name", "truth")))
    assert data.encoding["columns"][0]["mean"] == 2


def test_a_column_without_a_name_is_left_out_with_a_note(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv")
    data = read(tmp_path / "t.csv", ALL)
    assert data.notes == ("column 1 is left out: it has no name", "inputs are made of 1 column: a (numbers)")
    assert data.shape == (1,)


def test_columns_may_be_called_by_numbers():
    data = read(pd.DataFrame([[1, 5, "x"], [2, 5, "y"]]), Data(label_column="2"))
    assert data.notes == ("inputs are made of 1 column: 0 (numbers)", "column '1' is left out: it is always 5")


def test_nullable_columns_are_read_as_others():
    frame = pd.DataFrame({"i": pd.array([1, None, 3], "Int64"), "b": pd.array([True, False, True], "boolean")})
    data = read(frame, y=["u", "v", "u"])
    assert [column["kind"] for column in data.encoding["columns"]] == ["number", "boolean"]
    assert data.notes == (
        "inputs are made of 2 columns: i (numbers); b (true or false)",
        "column 'i': 1 missing value is filled with the median 2",
    )


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match=r"^the table has no rows$"):
        read(FRAME[:0])


def save_images(folder):
    pixels = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)
    (folder / "deep").mkdir()
    for name, values in zip(("1.png", "deep/2.PNG"), pixels, strict=True):
        Image.fromarray(values).save(folder / name)
    return torch.from_numpy(pixels)[:, None]


@pytest.mark.parametrize(("column", "setting"), [("path", ""), ("file", "file")])
def test_images_are_listed_by_a_column(column, setting, tmp_path):
    pixels = save_images(tmp_path)
    (tmp_path / "t.csv").write_text(f"{column},label,taken\n1.png,x,2001\ndeep/2.PNG,y,2002\n")
    data = read(tmp_path / "t.csv", Data(image_column=setting))
    assert torch.equal(data.x, pixels)
    assert data.notes == ("the inputs are images; left out: 'taken'",)
    assert torch.equal(read_inputs(tmp_path / "t.csv", data.encoding, Data(image_column=setting)).x, pixels)


def test_paths_of_images_may_leave_the_folder_of_the_table(tmp_path):
    save_images(tmp_path)
    (tmp_path / "deep" / "t.csv").write_text("path,label\n../1.png,x\n2.PNG,y\n")
    assert read(tmp_path / "deep" / "t.csv").shape == (1, 4, 4)


def test_a_column_called_path_that_names_no_images_is_an_input():
    data = read(FRAME.assign(path=["/a", "/b", "/a"]), Data(drop=("name", "truth")))
    assert data.encoding["columns"][1]["values"] == ["/a", "/b"]


def test_a_dropped_column_of_paths_lists_no_images():
    data = read(FRAME.assign(path=["a.png", "b.png", "a.png"]), Data(drop=("name", "truth", "path")))
    assert data.encoding["kind"] == "table"


def test_an_image_that_cannot_be_used_is_named_with_the_line_that_lists_it(tmp_path):
    save_images(tmp_path)
    (tmp_path / "bad.png").write_text("?")
    (tmp_path / "t.csv").write_text("path,label\n\n1.png,x\nbad.png,y\n")
    with pytest.raises(InputError) as error:
        read(tmp_path / "t.csv")
    assert str(error.value) == (
        f"{tmp_path}/t.csv, line 4, column 'path': {tmp_path}/bad.png cannot be read as an image; mend it or remove it"
    )
    Image.new("L", (5, 4)).save(tmp_path / "bad.png")
    with pytest.raises(InputError) as error:
        read(tmp_path / "t.csv")
    assert str(error.value).startswith(
        f"{tmp_path}/t.csv, line 4, column 'path': {tmp_path}/bad.png has 5 × 4 pixels in mode L, "
        f"but {tmp_path}/1.png has 4 × 4 pixels"
    )


def test_listed_images_called_like_a_formula_are_refused_in_training_and_prediction(tmp_path):
    save_images(tmp_path)
    (tmp_path / "1.png").rename(tmp_path / "=cmd().png")
    (tmp_path / "t.csv").write_text("path,label\ndeep/2.PNG,x\n=cmd().png,y\n")
    encoding = {"kind": "images", "shape": [1, 4, 4], "resize": 0}
    for attempt in (read, lambda path: read_inputs(path, encoding)):
        with pytest.raises(InputError) as error:
            attempt(tmp_path / "t.csv")
        assert str(error.value) == (
            f"{tmp_path}/t.csv, line 3, column 'path': '=cmd().png' is a spreadsheet formula; rename the file"
        )


@pytest.mark.parametrize("settings", [{"true_label_column": "label"}, {"label_column": "a", "true_label_column": "a"}])
def test_one_column_does_not_hold_given_and_true_labels(settings):
    name = settings["true_label_column"]
    with pytest.raises(InputError) as error:
        read(FRAME, Data(**settings))
    assert str(error.value) == (
        f"the table: column {name!r} is named for given and for true labels; "
        "name another with true_label_column, or leave it out"
    )


@pytest.mark.parametrize(("setting", "beside"), [("label_column", "y"), ("true_label_column", "y_true")])
def test_labels_are_in_a_column_or_beside_the_table_not_both(setting, beside):
    with pytest.raises(InputError) as error:
        read(FRAME, Data(**{setting: "truth"}), **{beside: ["x", "y", "y"]})
    assert str(error.value) == (
        f"{setting} is for labels in a column, but they are given as {beside}; leave one of them out"
    )


def test_an_image_size_for_a_table_that_lists_no_images_is_refused():
    with pytest.raises(InputError, match=r"^image_size is for image files, and the table lists none; leave it out$"):
        read(FRAME, Data(image_size=8))


def test_parquet_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    def missing(_):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", missing)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"t\.parquet: Parquet files need pyarrow; pip install pyarrow$"):
        read(tmp_path / "t.parquet")


def test_parquet_is_read_as_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", lambda _: FRAME)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    assert read(tmp_path / "t.parquet", ALL).fingerprint == read(FRAME, ALL).fingerprint


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_damaged_parquet_is_refused(error, tmp_path, monkeypatch):
    def damaged(_):
        raise error("Couldn't deserialize thrift")

    monkeypatch.setattr(pd, "read_parquet", damaged)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"t\.parquet is damaged or no Parquet file; write it again$"):
        read(tmp_path / "t.parquet")


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="pyarrow is not installed")
def test_real_parquet_is_read_and_refused_when_cut(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    assert read(path, ALL).fingerprint == read(FRAME, ALL).fingerprint
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is damaged or no Parquet file"):
        read(path)


def test_spaces_around_a_label_do_not_make_another_class(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,yes\n2, yes \n3,no\n4,no \n")
    assert read(tmp_path / "t.csv").classes == ("no", "yes")


def test_classes_that_differ_in_case_only_are_remarked_on(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,yes\n2,Yes\n3,no\n")
    assert "classes 'Yes' and 'yes' differ in case only" in read(tmp_path / "t.csv").notes


def test_images_that_a_table_lists_are_called_by_their_paths(tmp_path):
    for number in range(4):
        Image.fromarray(np.full((8, 8), number, np.uint8)).save(tmp_path / f"{number}.png")
    (tmp_path / "t.csv").write_text("path,label\n" + "".join(f"{i}.png,{i % 2}\n" for i in range(4)))
    data = read(tmp_path / "t.csv")
    assert data.ids == ("0.png", "1.png", "2.png", "3.png")
    assert read_inputs(tmp_path / "t.csv", data.encoding).ids == data.ids


def test_without_inputs_a_digest_changes_with_every_cell():
    frame = pd.DataFrame({"text": ["=a", "b"], "list": [[1], [2]], "label": ["x", "y"]})
    first, second = (
        from_frame("t", each, Origin("t"), Data(), inputs=False).inputs.x
        for each in (frame, frame.assign(text=["=a", "c"]))
    )
    assert (first == second).all(1).tolist() == [True, False]


def test_weights_of_labels_are_no_input():
    data = read(FRAME.assign(label_weight=[0.1, 0.5, 1.0]), ALL)
    assert data.encoding == read(FRAME, ALL).encoding
    assert "column 'label_weight' is left out: it says how far to trust labels" in data.notes
