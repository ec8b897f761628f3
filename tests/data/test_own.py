import io
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from labelnoise.config import Data
from labelnoise.data import is_own, load, read, read_inputs
from labelnoise.data.own import read_labelled, read_whole
from labelnoise.data.standard.cache import save
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.errors import InputError

GREY = Image.new("L", (4, 4))
ROWS = "a,label\n1,x\n2,y\n"


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def png(image):
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()


def bomb():
    # the header promises 30,000 by 30,000 pixels, and nothing follows
    data = bytearray(png(GREY))
    data[16:24] = (30_000).to_bytes(4) * 2
    data[29:33] = zipfile.crc32(bytes(data[12:29])).to_bytes(4)
    return bytes(data)


def put(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str | bytes):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        else:
            path.mkdir()


def told(error, folder):
    return str(error.value).replace(f"{folder}/", "")


IMAGES = {"i/x/1.png": png(GREY), "i/y/1.png": png(GREY)}
X, Y = np.eye(4), np.array([0, 1, 0, 1])

BAD_TABLES = [
    ("", "t.csv is empty"),
    ("\n \n", "t.csv is empty; it needs a header and a row for each example"),
    ("a,label\n", "t.csv has a header but no rows"),
    ("a,label\n1,x\n\0,y\n", "t.csv, line 3: a NUL byte, so no UTF-8 text; save the file as UTF-8"),
    (ROWS.encode("utf-16"), "t.csv, line 1: a NUL byte, so no UTF-8 text; save the file as UTF-8"),
    ("a,label\n1,x\n2,\xe4\n".encode("latin-1"), "t.csv, line 3: not UTF-8 text; save the file as UTF-8"),
    ("\xe4,label\n1,x\n2,y\n".encode("latin-1"), "t.csv, line 1: not UTF-8 text; save the file as UTF-8"),
    (
        ROWS + "3,x,7\n",
        "t.csv, line 4: 3 fields, but the header has 2; quote fields that hold the delimiter",
    ),
    (
        "a,label\n1,x,7\n2,y,7\n",
        "t.csv, line 2: 3 fields, but the header has 2; quote fields that hold the delimiter",
    ),
    (
        "a,b,label\n1,2,x\n\n'2,y\n2,3,y\n",
        "t.csv, line 4: 2 fields, but the header has 3; quote fields that hold the delimiter",
    ),
    ('a,label\n1,x\n2,y\n3,"x\n4,y\n', "t.csv, line 4: a quote is opened and never closed"),
    ('\na,label\n1,x\n\n\n3,"x\n4,y\n', "t.csv, line 6: a quote is opened and never closed"),
    ("a,b,a,label\n1,2,3,x\n2,2,3,y\n", "t.csv has 2 columns called 'a'; rename all but one"),
    ("a,lable\n1,x\n2,y\n", "t.csv has no column 'label' (--label-column); did you mean 'lable'?"),
    ("a,kind\n1,x\n2,y\n", "t.csv has no column 'label' (--label-column); known are a, kind"),
    ("label\nx\ny\n", "t.csv: no column is left to learn from"),
    (
        "a,b,label\n,1,x\n,1,y\n",
        "t.csv: no column is left to learn from; column 'a' is left out: it is empty; "
        "column 'b' is left out: it is always 1",
    ),
    ("a,label\n1,\n2,\n", "t.csv: no row has a label in 'label'"),
    ("a,label\n1,x\n2,x\n", "t.csv: all labels in 'label' are 'x'; at least two classes must occur"),
    (
        "a,label\n" + "".join(f"{i},{i}.5\n" for i in range(101)),
        "t.csv: 101 different labels in 'label', for 101 rows, are too many for classes; "
        "name another column with --label-column",
    ),
    (ROWS + "inf,x\n", "t.csv, line 4, column 'a': the number is infinite; mend it, or leave the cell empty"),
    (ROWS + "1e999,x\n", "t.csv, line 4, column 'a': the number is infinite; mend it, or leave the cell empty"),
    ("a,label\n-1e308,x\n1e308,y\n", "t.csv, column 'a': the numbers are too large; scale them down"),
    (
        'a,label\n"1\n",x\n2,y\nabc,y\n',
        "t.csv, line 5, column 'a': 'abc' is no number, although most cells are; mend it, "
        "or take the column as names with data.categorical=['a']",
    ),
    (
        "a;label\n1,5;x\n2;y\n",
        "t.csv, line 2, column 'a': '1,5' has a decimal comma; mend it, "
        "or take the column as names with data.categorical=['a']",
    ),
    (
        "a,label\n1,x\n=A2+1,y\n",
        "t.csv, line 3, column 'a': '=A2+1' is a spreadsheet formula; export values, not formulas, "
        "or leave the column out with data.drop=['a']",
    ),
    (
        "a,label\n1,x\n2,@SUM(B1)\n",
        "t.csv, line 3, column 'label': '@SUM(B1)' is a spreadsheet formula; export values, not formulas, or rename it",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_TABLES)
def test_a_bad_csv_is_refused_with_one_sentence(text, message, tmp_path):
    put(tmp_path, {"t.csv": text})
    with pytest.raises(InputError) as error:
        read(tmp_path / "t.csv")
    assert told(error, tmp_path) == message


BAD_COLUMNS = [
    ({"id_column": "b"}, "t.csv, line 4, column 'b': id '1' is in line 2 already; each must be there once"),
    ({"id_column": "c"}, "t.csv, line 3, column 'c': the id is missing; each row needs one"),
    ({"id_column": "d"}, "t.csv has no column 'd' (--id-column); known are a, b, c, f, label"),
    (
        {"id_column": "f"},
        "t.csv, line 3, column 'f': '+1|A' is a spreadsheet formula; export values, not formulas, or rename it",
    ),
    ({"true_label_column": "c", "drop": ("f",)}, "t.csv, line 3, column 'c': the true label is missing; fill it in"),
    ({"true_label_column": "labl"}, "t.csv has no column 'labl' (--true-label-column); did you mean 'label'?"),
    ({"drop": ("z",)}, "t.csv has no column 'z' (data.drop); known are a, b, c, f, label"),
    ({"categorical": ("z",)}, "t.csv has no column 'z' (data.categorical); known are a, b, c, f, label"),
    ({"image_column": "a"}, "t.csv, line 2, column 'a': there is no image '5'; mend the path"),
    ({"image_column": "c"}, "t.csv, line 3, column 'c': the image is missing; leave the row out"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_COLUMNS)
def test_a_column_that_cannot_be_what_it_is_named_for_is_refused_with_one_sentence(settings, message, tmp_path):
    put(tmp_path, {"t.csv": "a,b,c,f,label\n5,1,1,u,x\n6,2,,+1|A,y\n7,1,3,v,x\n"})
    with pytest.raises(InputError) as error:
        read(str(tmp_path / "t.csv"), Data(**settings))
    assert told(error, tmp_path) == message


BAD_FILES = [
    ({}, "none.csv", "there is no file or folder 'none.csv'"),
    (
        {"t.xlsx": "?"},
        "t.xlsx",
        "t.xlsx cannot be read; give a folder of images, or a file in .csv, .tsv, .parquet, .npz, .npy",
    ),
    ({"t.npz": npz(x=X, y=Y)[:-30]}, "t.npz", "t.npz is damaged or no .npz file; save it again"),
    ({"t.npz": b""}, "t.npz", "t.npz is empty"),
    ({"t.npz": b"PK\3\4"}, "t.npz", "t.npz is damaged or no .npz file; save it again"),
    ({"t.npy": npy(X)[:-9]}, "t.npy", "t.npy is damaged or no .npy file; save it again"),
    ({"t.npy": b"1,2,3"}, "t.npy", "t.npy is damaged or no .npy file; save it again"),
    (
        {"t.npz": npz(x=X, y=np.array(["x", 1, 2, 3], object))},
        "t.npz",
        "t.npz holds Python objects, which are not read; save plain arrays, names as texts",
    ),
    (
        {"t.npz": npz(x=X)},
        "t.npz",
        "t.npz has no array 'y'; it holds x, and needs x and y, or x_train, y_train, x_test, y_test",
    ),
    ({"t.npz": npz(x=X, y=Y[:3])}, "t.npz", "t.npz has 4 rows but y has 3; give one for each row"),
    (
        {"t.npz": npz(x=X, y=Y, ids=np.array(["a", "b", "a", "c"]))},
        "t.npz",
        "t.npz, row 2, column 'ids': id 'a' is in row 0 already; each must be there once",
    ),
    (
        {"t.npz": npz(x=X, y=Y, classes=np.array(["u"]))},
        "t.npz",
        "t.npz, row 1, column 'y': the label is none of the 1 classes",
    ),
    ({"t.npz": npz(x=X, y=Y, classes=np.array(["u", "u"]))}, "t.npz", "t.npz: a class is named twice in classes"),
    (
        {"t.npz": npz(x_train=X, y_train=Y, x_test=X, y_test=Y[1:])},
        "t.npz",
        "t.npz has 4 rows in x_test but 3 in y_test; give one for each row",
    ),
    (
        {"t.npz": npz(x_train=X, y_train=Y, x_test=X[:, :2], y_test=Y)},
        "t.npz",
        "t.npz: x_train has shape (4, 4) but x_test (4, 2); their rows must be alike",
    ),
    ({"t.npy": npy(X)}, "t.npy", "t.npy holds inputs only; name the file of their labels with --labels"),
    ({"i": None}, "i", "i holds no class folders; put the images of each class in a folder of its name"),
    (
        {"i/train/x/1.png": b"", "i/test/x/1.png": b""},
        "i",
        "i holds parts, test and train, not classes; give one, such as i/test",
    ),
    (IMAGES | {"i/z/notes.txt": "?"}, "i", "class folder i/z holds no images; add some, or remove the folder"),
    ({"i/x/1.png": png(GREY)}, "i", "i: all labels are 'x'; at least two classes must occur"),
    (
        {f"i/{number}/1.png": png(GREY) for number in range(20)},
        "i",
        "i: 20 different labels, for 20 rows, are too many for classes; put the images of a class in one folder",
    ),
    (
        IMAGES | {"i/y/2.png": png(Image.effect_noise((32, 32), 50))[:500]},
        "i",
        "i/y/2.png cannot be read as an image; mend it or remove it",
    ),
    (IMAGES | {"i/y/2.png": b""}, "i", "i/y/2.png cannot be read as an image; mend it or remove it"),
    (IMAGES | {"i/y/2.png": "text"}, "i", "i/y/2.png cannot be read as an image; mend it or remove it"),
    (
        IMAGES | {"i/y/2.png": png(GREY.resize((5, 4)))},
        "i",
        "i/y/2.png has 5 × 4 pixels in mode L, but i/x/1.png has 4 × 4 pixels in mode L; "
        "make all alike, or scale them, such as by --image-size 32",
    ),
    (
        IMAGES | {"i/y/2.png": png(GREY.convert("RGB"))},
        "i",
        "i/y/2.png has 4 × 4 pixels in mode RGB, but i/x/1.png has 4 × 4 pixels in mode L; "
        "make all alike, or scale them, such as by --image-size 32",
    ),
    (
        IMAGES | {"i/y/2.png": png(GREY.convert("I;16"))},
        "i",
        "i/y/2.png has 4 × 4 pixels in mode I;16, which has no sure counterpart of 8 bits; save it as grey or RGB",
    ),
    (
        IMAGES | {"i/y/2.png": png(GREY.resize((1000, 1000)))},
        "i",
        "i/y/2.png has 1000 × 1000 pixels in mode L, a million or more; "
        "scale the images down, such as by --image-size 64",
    ),
    (IMAGES | {"i/y/2.png": bomb()}, "i", "i/y/2.png has too many pixels to be opened safely; scale it down"),
    (
        {"t.csv": "path,label\n1.png,x\n2.png,y\n", "1.png": png(GREY)},
        "t.csv",
        "t.csv, line 3, column 'path': there is no image '2.png'; mend the path",
    ),
]


@pytest.mark.parametrize(("files", "source", "message"), BAD_FILES)
def test_a_bad_file_is_refused_with_one_sentence(files, source, message, tmp_path):
    put(tmp_path, files)
    with pytest.raises(InputError) as error:
        read(tmp_path / source)
    assert told(error, tmp_path) == message


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        ("a.npz", {"label_column": "y"}, "--label-column is for tables, which a.npz is not; leave it out"),
        ("a.npz", {"labels": "y.txt"}, "--labels is for .npy files, which a.npz is not; leave it out"),
        ("a.npy", {"drop": ("a",)}, "data.drop is for tables, which a.npy is not; leave it out"),
        ("a.npy", {"image_size": 8}, "--image-size is for image files, which a.npy is not; leave it out"),
        ("i", {"id_column": "a"}, "--id-column is for tables, which i is not; leave it out"),
        ("i", {"image_column": "a"}, "data.image_column is for tables, which i is not; leave it out"),
        ("t.csv", {"labels": "y.txt"}, "--labels is for .npy files, which t.csv is not; leave it out"),
        ("t.csv", {"true_labels": "y.txt"}, "data.true_labels is for .npy files, which t.csv is not; leave it out"),
        ("t.csv", {"image_size": 8}, "--image-size is for image files, and t.csv lists none; leave it out"),
        (X, {"true_label_column": "a"}, "true_label_column is for tables, which x is not; leave it out"),
        (X, {"categorical": ("a",)}, "categorical is for tables, which x is not; leave it out"),
        (pd.DataFrame(X), {"labels": "y.txt"}, "labels is for .npy files, which the table is not; leave it out"),
    ],
)
def test_a_setting_that_does_not_apply_is_refused_by_name(source, settings, message, tmp_path):
    put(tmp_path, IMAGES | {"t.csv": ROWS, "a.npz": npz(x=X, y=Y), "a.npy": npy(X)})
    given, y = (tmp_path / source, None) if isinstance(source, str) else (source, Y)
    with pytest.raises(InputError) as error:
        read(given, Data(**settings), y=y)
    assert told(error, tmp_path) == message


def test_settings_of_a_model_do_not_hinder_its_predictions():
    settings = Data(label_column="y", labels="y.txt", image_size=8, drop=("a",))
    assert read_inputs(X, NUMBERS, settings).x.shape == (4, 4)


@pytest.mark.parametrize("source", [{"x": X}, 3, None])
def test_what_is_no_data_is_refused_by_its_type(source):
    with pytest.raises(InputError, match=f"^the {type(source).__name__} cannot be read; give a path, a DataFrame, "):
        read(source)


def test_labels_are_given_beside_arrays_and_tables_only(tmp_path):
    put(tmp_path, {"t.csv": ROWS})
    with pytest.raises(InputError, match=r"t\.csv carries its own labels; y and y_true go with arrays and DataFrames$"):
        read(tmp_path / "t.csv", y=["x", "y"])


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("digits", False),
        ("digitz", False),
        ("iris.csv", True),
        ("IRIS.CSV", True),
        ("a.npz", True),
        ("data/pictures", True),
        ("data\\pictures", True),
        ("there", True),
    ],
)
def test_a_path_is_told_from_a_name(source, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("there", "digits"):
        (tmp_path / folder).mkdir()
    assert is_own(source) == own


def test_the_data_set_is_called_as_its_file_is(tmp_path):
    put(tmp_path, IMAGES | {"my.csv": ROWS, "his.npz": npz(x=X, y=Y)})
    assert [read(tmp_path / name).name for name in ("my.csv", "his.npz", "i")] == ["my", "his", "i"]


def test_a_table_takes_its_labels_from_y():
    data = read(pd.DataFrame({"a": [1, 2, 4]}), y=pd.Series(["u", "v", "u"]), y_true=np.array(["u", "u", "w"]))
    assert data.classes == ("u", "v", "w")
    assert data.y_given.tolist() == [0, 1, 0]
    assert data.y_true.tolist() == [0, 0, 2]


def test_tensors_are_read_with_their_labels():
    data = read(torch.tensor([[1.0], [3.0]], requires_grad=True), y=torch.tensor([7, 5]))
    assert data.classes == ("5", "7")
    assert data.y_given.tolist() == [1, 0]
    assert data.x.tolist() == [[-1], [1]]


TABLE = read(pd.DataFrame({"a": [1, 3], "label": ["x", "y"]})).encoding
PIXELS = {"kind": "images", "shape": [1, 4, 4], "resize": 0}
NUMBERS = read(X, y=Y).encoding


@pytest.mark.parametrize(
    ("encoding", "source", "message"),
    [
        (TABLE, "i", "i cannot be given to a model that has learnt from tables; give it such data"),
        (TABLE, "a.npy", "a.npy cannot be given to a model that has learnt from tables; give it such data"),
        (TABLE, X, "x cannot be given to a model that has learnt from tables; give it such data"),
        (TABLE, "none.csv", "there is no file or folder 'none.csv'"),
        (PIXELS, "t.csv", "t.csv lists no images; call the column of their paths 'path'"),
        (PIXELS, X, "x has shape (4, 4), but the model needs rows of shape (1, 4, 4)"),
        (
            NUMBERS,
            "t.csv",
            "t.csv cannot be given to a model that has learnt from arrays of numbers; give it such data",
        ),
        (
            NUMBERS,
            pd.DataFrame({"a": [1]}),
            "the table cannot be given to a model that has learnt from arrays of numbers; give it such data",
        ),
        (NUMBERS, 3, "the int cannot be given to a model that has learnt from arrays of numbers; give it such data"),
        (NUMBERS, X[:, :2], "x has shape (4, 2), but the model needs rows of shape (4,)"),
    ],
)
def test_rows_that_a_model_cannot_know_are_refused_with_one_sentence(encoding, source, message, tmp_path):
    put(tmp_path, IMAGES | {"t.csv": ROWS, "a.npy": npy(X)})
    with pytest.raises(InputError) as error:
        read_inputs(tmp_path / source if isinstance(source, str) else source, encoding)
    assert told(error, tmp_path) == message


def test_a_model_of_images_takes_files_folders_lists_and_arrays_alike(tmp_path):
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4)
    image = Image.fromarray(pixels)
    put(tmp_path, {"i/1.png": png(image), "list.csv": "path\ni/1.png\n", "a.npy": npy(pixels[None])})
    table = pd.DataFrame({"path": [str(tmp_path / "i" / "1.png")]})
    for source in (tmp_path / "i" / "1.png", tmp_path / "i", tmp_path / "list.csv", tmp_path / "a.npy", table):
        x = read_inputs(source, PIXELS).x
        assert x.dtype == torch.uint8
        assert x.tolist() == [[pixels.tolist()]]


def test_new_rows_of_a_table_need_no_label_and_have_their_ids(tmp_path):
    put(tmp_path, {"new.csv": "name,a\nu,2\nv,5\n"})
    inputs = read_inputs(tmp_path / "new.csv", TABLE, Data(id_column="name"))
    assert inputs.ids == ("u", "v")
    assert inputs.x.tolist() == [[0], [3]]  # mean 2, standard deviation 1


@pytest.mark.parametrize("name", ["digits", "moons"])
def test_built_in_data_come_back_as_they_are(name):
    data = load(name, 0)
    inputs = read_inputs(data.x.numpy(), data.encoding)
    assert torch.equal(inputs.x, data.x)
    assert inputs.ids[:2] == ("0", "1")


def test_a_name_with_a_suffix_is_a_file_even_if_it_is_not_there():
    assert is_own("nope.cvs")
    with pytest.raises(InputError, match=r"^there is no file or folder 'nope\.cvs'$"):
        read("nope.cvs")


def test_a_file_of_the_data_root_is_told_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    pixels = np.zeros((4, 1, 28, 28), np.uint8)
    path = save(CARDS["mnist"], {"x": (pixels,), "y": (np.arange(4),)}, {"train": 2, "classes": list("abcd")})
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value) == f"{path} is a file of the data root; write mnist, or another name that `data list` shows"


def test_a_table_is_read_whole_with_rows_that_have_no_label(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,x\n2,\n4,y\n")
    dataset, given = read_whole(tmp_path / "t.csv")
    assert (len(dataset), given.tolist(), dataset.classes) == (3, [0, -1, 1], ("x", "y"))
    assert (dataset.x[1] > dataset.x[0]).all()
    assert not any("left out" in note for note in dataset.notes)


def test_where_every_row_has_a_label_the_whole_is_what_is_read():
    x = np.arange(6.0).reshape(3, 2)
    dataset, given = read_whole(x, y=["x", "y", "x"])
    assert given.tolist() == [0, 1, 0]
    assert dataset.fingerprint == read(x, y=["x", "y", "x"]).fingerprint


def test_texts_with_signs_do_not_stop_a_table_from_being_read(tmp_path):
    put(tmp_path, {"t.csv": "text,a,label\n@user0 awful show!,1,x\n-5 degrees (outside),2,y\n"})
    assert len(read(tmp_path / "t.csv").encoding["columns"]) == 2


def test_rows_to_review_are_those_with_a_label_whatever_else_the_table_holds(tmp_path):
    put(tmp_path, {"t.csv": "text,label\n=a,x\nb,\nc,y\n"})
    found = read_labelled(str(tmp_path / "t.csv"), Data())
    assert (found.classes, found.ids, found.notes) == (("x", "y"), ("0", "2"), ("1 row without a label is left out",))


def test_minus_one_is_a_class_to_train_on_and_no_label_to_review(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(4), y=[0, -1, 1, 0])
    assert read(tmp_path / "a.npz").classes == ("-1", "0", "1")
    assert read_labelled(str(tmp_path / "a.npz"), Data()).classes == ("0", "1")
    assert read_labelled(str(tmp_path / "a.npz"), Data(), [-1, 0, 1]).classes == ("-1", "0", "1")
