import numpy as np
import pandas as pd
import pytest
import torch

from labelnoise.config import Data
from labelnoise.data import read, read_inputs
from labelnoise.data.arrays import unscaled
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
Y = np.array([0, 1, 0, 1, 1])
PIXELS = RNG.integers(256, size=(5, 3, 8, 6), dtype=np.uint8)  # (N, C, H, W)


@pytest.mark.parametrize(
    ("x", "images"),
    [
        (PIXELS, PIXELS),
        (PIXELS.transpose(0, 2, 3, 1), PIXELS),
        (PIXELS[:, 0], PIXELS[:, :1]),
        (PIXELS[:, :1], PIXELS[:, :1]),
        (PIXELS[:, :1].transpose(0, 2, 3, 1), PIXELS[:, :1]),
    ],
)
def test_images_in_every_layout_stay_pixels_with_channels_first(x, images):
    data = read(x, y=Y)
    assert data.x.dtype == torch.uint8
    assert data.x.tolist() == images.tolist()
    assert read_inputs(x, data.encoding).x.tolist() == images.tolist()


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((5, 3, 8, 3), "and either the second or the last axis may be channels; "),
        ((5, 8, 8, 2), "and no axis is one of 1, 3 or 4 channels; "),
        ((5, 1, 2, 2, 2), "and its axes are not two, three or four; "),
        ((5,), "and its axes are not two, three or four; "),
    ],
)
def test_a_layout_that_is_not_sure_is_refused(shape, why):
    with pytest.raises(InputError) as error:
        read(np.zeros(shape), y=Y)
    assert str(error.value) == (
        f"x has shape {shape}, {why}give (N, D) numbers, or (N, H, W), (N, H, W, C) or (N, C, H, W) images"
    )


def test_numbers_are_standardised_by_column():
    data = read(np.array([[1, 5, 1e9], [3, 5, 1e9 + 2], [1, 5, 1e9], [3, 5, 1e9 + 2], [2, 5, 1e9 + 1]]), y=Y)
    spread = np.sqrt(0.8)  # of 1, 3, 1, 3, 2
    column = np.array([-1, 1, -1, 1, 0]) / spread
    np.testing.assert_allclose(data.x, np.stack([column, 0 * column, column], 1), rtol=1e-6)
    assert data.x.dtype == torch.float32


def test_a_constant_column_is_zero_even_if_its_mean_cannot_be_exact():
    assert read(np.full((5, 1), 0.1), y=Y).x.tolist() == [[0]] * 5


def test_images_of_floats_are_standardised_by_channel():
    x = PIXELS.astype(np.float64) * np.array([1, 10, 0])[:, None, None] + 7
    data = read(x, y=Y)
    by_channel = data.x.double().transpose(0, 1).flatten(1)
    np.testing.assert_allclose(by_channel.mean(1), [0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(by_channel.std(1, correction=0), [1, 1, 0], atol=1e-6)
    assert not data.x[:, 2].any()


def test_new_rows_are_scaled_by_the_old_ones():
    data = read(np.array([[1.0], [3.0], [1.0], [3.0], [2.0]]), y=Y)
    assert read_inputs(np.array([[2.0], [4.0]]), data.encoding).x[:, 0].tolist() == pytest.approx([0, 2 / np.sqrt(0.8)])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([[1.0], [np.nan]]), "x, row 1: NaN or infinity; drop the row or fill it in"),
        (np.array([["a"], ["b"]]), "x must hold numbers, not <U1; encode it first"),
        (np.zeros((2, 0)), "x holds no rows: its shape is (2, 0)"),
        (np.array([[-1e308], [1e308]]), "x: the numbers of column 0 are too large; scale them down"),
    ],
)
def test_arrays_that_are_no_inputs_are_refused(x, message):
    with pytest.raises(InputError) as error:
        read(x, y=np.array([0, 1]))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([[np.inf]]), "x, row 0: NaN or infinity; drop the row or fill it in"),
        (np.array([[1e300]]), "x, row 0: a number is too large; mend the row"),
        (np.zeros((0, 1)), "x holds no rows: its shape is (0, 1)"),
    ],
)
def test_new_rows_that_are_no_inputs_are_refused(x, message):
    with pytest.raises(InputError) as error:
        read_inputs(x, unscaled((1,)))
    assert str(error.value) == message


def test_pixels_are_not_taken_for_floats():
    with pytest.raises(InputError, match=r"^x holds uint8, but the model has learnt from float32; convert it$"):
        read_inputs(np.zeros((2, 8, 8), np.uint8), unscaled((1, 8, 8)))


@pytest.mark.parametrize(
    ("y", "classes", "labels"),
    [
        (np.array([7, 5, 7, 5, 5]), ("5", "7"), [1, 0, 1, 0, 0]),
        (np.array([7.0, 5.0, 7.0, 5.0, 5.0]), ("5", "7"), [1, 0, 1, 0, 0]),
        (np.array([[7], [5], [7], [5], [5]]), ("5", "7"), [1, 0, 1, 0, 0]),
        (np.array(["v", "u", "v", "u", "u"]), ("u", "v"), [1, 0, 1, 0, 0]),
        (["v", "u", "v", "u", "u"], ("u", "v"), [1, 0, 1, 0, 0]),
        (pd.Categorical(["v", "u", "v", "u", "u"], ["u", "w", "v"]), ("u", "w", "v"), [2, 0, 2, 0, 0]),
    ],
)
def test_labels_may_be_numbers_or_names(y, classes, labels):
    data = read(np.eye(5), y=y)
    assert data.classes == classes
    assert data.y_given.tolist() == labels


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "x has no labels; give one for each row as y"),
        (np.array([0.5, 1, 1, 1, 1]), "x, row 0, column 'y': 0.5 is no class; labels are whole numbers or names"),
        (np.zeros((5, 2)), "x: y has shape (5, 2); give one label for each row"),
        (np.zeros(4), "x has 5 rows but y has 4; give one for each row"),
    ],
)
def test_labels_that_are_none_are_refused(y, message):
    with pytest.raises(InputError) as error:
        read(np.eye(5), y=y)
    assert str(error.value) == message


def test_an_npz_file_may_carry_truth_ids_and_class_names(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(5), y=Y, y_true=1 - Y, ids=np.arange(5) * 10, classes=["no", "yes", "maybe"])
    data = read(tmp_path / "a.npz")
    assert data.classes == ("no", "yes", "maybe")
    assert data.y_given.tolist() == Y.tolist()
    assert data.y_true.tolist() == (1 - Y).tolist()
    assert data.ids == ("0", "10", "20", "30", "40")


def test_names_in_an_npz_file_are_found_among_its_classes(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2), y=["b", "a"], classes=["b", "a"])
    assert read(tmp_path / "a.npz").y_given.tolist() == [0, 1]
    np.savez(tmp_path / "a.npz", x=np.eye(2), y=["b", "c"], classes=["b", "a"])
    with pytest.raises(InputError, match=r"row 1, column 'y': the label is none of the 2 classes$"):
        read(tmp_path / "a.npz")


def test_beside_class_names_minus_one_is_no_label(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(3), y=[1, -1, 0], classes=["no", "yes"])
    data = read(tmp_path / "a.npz")
    assert (data.y_given.tolist(), data.ids) == ([1, 0], ("0", "2"))


def test_an_npz_file_may_keep_rows_for_the_test(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=np.eye(5), y_train=Y, x_test=np.eye(5)[:2], y_test=[2, 0])
    data = read(tmp_path / "a.npz")
    assert data.ids == ("train/0", "train/1", "train/2", "train/3", "train/4", "test/0", "test/1")
    assert data.test.tolist() == [5, 6]
    assert data.y_given.tolist() == [*Y.tolist(), 2, 0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("y.txt", "u\nv\nu\nv\nv\n"),
        ("y.csv", "label\nu\nv\nu\nv\nv\n"),
        ("y.csv", "sep=,\r\nlabel\r\nu\r\nv\r\nu\r\nv\r\nv\r\n"),
        ("y.csv", "sep=;\nu\nv\nu\nv\nv\n"),
        ("y.csv", "\ufeffu\r\nv\r\nu\r\nv\r\nv"),
    ],
)
def test_labels_lie_in_a_file_beside_an_npy_file(name, text, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(5))
    (tmp_path / name).write_bytes(text.encode())
    np.save(tmp_path / "true.npy", np.array(["v"] * 5))
    data = read(tmp_path / "x.npy", Data(labels=str(tmp_path / name), true_labels=str(tmp_path / "true.npy")))
    assert data.classes == ("u", "v")
    assert data.y_given.tolist() == Y.tolist()
    assert data.y_true.tolist() == [1] * 5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "y.csv",
            b"label\nu\nv\nu\nv\n",
            "y.csv begins with 'label', which seems to be a header, so that there are 4 labels for 5 rows; "
            "give one for each row",
        ),
        ("y.csv", b"1\n2,3\n", "y.csv, line 2: several fields; write one label for each row of the inputs"),
        ("y.txt", b"\xff\n", "y.txt is not UTF-8 text; save it as UTF-8"),
        (
            "y.txt",
            b"1" * 140_000,
            "y.txt has a line too long for a label; write one for each row of the inputs",
        ),
        ("y.npy", b"?", "y.npy is damaged or no .npy file; save it again"),
    ],
)
def test_bad_files_of_labels_are_refused(name, content, message, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(5))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        read(tmp_path / "x.npy", Data(labels=str(tmp_path / name)))
    assert str(error.value) == f"{tmp_path}/{message}"


def test_a_file_of_labels_is_named_where_it_is_too_short_or_of_one_class(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(5))
    labels = tmp_path / "y.txt"
    labels.write_text("1\n2\n")
    with pytest.raises(InputError, match=rf"x\.npy has 5 rows but {labels} has 2; give one for each row$"):
        read(tmp_path / "x.npy", Data(labels=str(labels)))
    labels.write_text("1\n" * 5)
    with pytest.raises(InputError, match=rf"x\.npy: all labels in '{labels}' are '1'; at least two"):
        read(tmp_path / "x.npy", Data(labels=str(labels)))


def test_a_file_of_labels_that_is_missing_is_named(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(5))
    with pytest.raises(InputError, match=r"^there is no file of labels 'y\.txt'; name an \.npy, \.csv or \.txt file$"):
        read(tmp_path / "x.npy", Data(labels="y.txt"))


def test_new_rows_come_from_files_with_their_ids(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2), ids=["u", "v"])
    np.savez(tmp_path / "b.npz", z=np.eye(2))
    np.save(tmp_path / "c.npy", np.eye(2))
    assert read_inputs(tmp_path / "a.npz", unscaled((2,))).ids == ("u", "v")
    assert read_inputs(tmp_path / "c.npy", unscaled((2,))).x.tolist() == np.eye(2).tolist()
    with pytest.raises(InputError, match=r"b\.npz has no array 'x'; it holds z$"):
        read_inputs(tmp_path / "b.npz", unscaled((2,)))


def test_new_rows_of_a_file_in_two_parts_are_those_of_both(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=np.eye(2), y_train=[0, 1], x_test=np.ones((1, 2)), y_test=[0])
    found = read_inputs(tmp_path / "a.npz", unscaled((2,)))
    assert found.ids == ("train/0", "train/1", "test/0")
    assert found.x.tolist() == [[1, 0], [0, 1], [1, 1]]


WHOLE = {"x": np.eye(5), "y": Y}
PARTS = {"x_train": np.eye(5), "y_train": Y, "x_test": np.eye(5), "y_test": Y}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (WHOLE | {"x": np.array(3.0)}, "a.npz: x holds no rows: its shape is ()"),
        (WHOLE | {"x": np.array(["u"] * 5)}, "a.npz: x must hold numbers, not <U1; encode it first"),
        (WHOLE | {"y": np.array(1)}, "a.npz: y has shape (); give one label for each row"),
        (WHOLE | {"y": np.eye(5)}, "a.npz: y has shape (5, 5); give one label for each row"),
        (
            WHOLE | {"y": np.eye(5, dtype=int), "classes": np.array(["u", "v"])},
            "a.npz: y has shape (5, 5); give one label for each row",
        ),
        (WHOLE | {"y": np.zeros(5, "M8[s]")}, "a.npz: y holds datetime64[s]; give numbers or texts"),
        (WHOLE | {"y": np.zeros(5, "i4,i4")}, "a.npz: y holds [('f0', '<i4'), ('f1', '<i4')]; give numbers or texts"),
        (WHOLE | {"y_true": np.array(1)}, "a.npz: y_true has shape (); give one label for each row"),
        (WHOLE | {"y_true": Y[:3]}, "a.npz has 5 rows but y_true has 3; give one for each row"),
        (WHOLE | {"classes": np.array("u")}, "a.npz: classes has shape (); give one name for each class"),
        (WHOLE | {"classes": np.array([["u", "v"]])}, "a.npz: classes has shape (1, 2); give one name for each class"),
        (WHOLE | {"ids": np.array("u")}, "a.npz: ids has shape (); give one id for each row"),
        (WHOLE | {"ids": np.eye(5)}, "a.npz: ids has shape (5, 5); give one id for each row"),
        (WHOLE | {"ids": np.arange(3)}, "a.npz has 5 rows in x but 3 in ids; give one for each row"),
        (
            WHOLE | {"ids": np.array(["a", "b", "=c", "d", "e"])},
            "a.npz, row 2, column 'ids': '=c' is a spreadsheet formula; export values, not formulas, or rename it",
        ),
        (PARTS | {"x_train": np.array(3.0)}, "a.npz: x_train holds no rows: its shape is ()"),
        (PARTS | {"x_test": np.zeros((0, 5))}, "a.npz: x_test holds no rows: its shape is (0, 5)"),
        (PARTS | {"y_train": np.array(1)}, "a.npz: y_train has shape (); give one label for each row"),
        (PARTS | {"y_test": np.eye(5)}, "a.npz: y_test has shape (5, 5); give one label for each row"),
    ],
)
def test_arrays_of_an_npz_file_that_cannot_be_what_they_are_called_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError) as error:
        read(tmp_path / "a.npz")
    assert str(error.value) == f"{tmp_path}/{message}"


def test_labels_of_the_two_parts_may_stand_in_a_row_or_in_a_column(tmp_path):
    np.savez(tmp_path / "a.npz", **PARTS | {"y_train": Y[:, None]}, classes=[b"no", b"yes"])
    data = read(tmp_path / "a.npz")
    assert data.classes == ("no", "yes")
    assert data.y_given.tolist() == [*Y.tolist(), *Y.tolist()]


def test_the_test_part_of_an_npz_file_is_noted(tmp_path):
    np.savez(tmp_path / "a.npz", **PARTS)
    assert read(tmp_path / "a.npz").notes == ("the test part is that of the file, 5 rows",)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.array(3.0)}, "a.npz holds no rows: its shape is ()"),
        ({"x": np.eye(2), "ids": np.array("u")}, "a.npz: ids has shape (); give one id for each row"),
        ({"x": np.eye(2), "ids": np.arange(3)}, "a.npz has 2 rows in x but 3 in ids; give one for each row"),
        ({"x_train": np.eye(2), "x_test": np.array(3.0)}, "a.npz holds no rows: its shape is ()"),
    ],
)
def test_new_rows_of_an_npz_file_that_cannot_be_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError) as error:
        read_inputs(tmp_path / "a.npz", unscaled((2,)))
    assert str(error.value) == f"{tmp_path}/{message}"


def test_new_rows_may_have_labels_of_any_shape(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2), y=np.eye(2))
    assert read_inputs(tmp_path / "a.npz", unscaled((2,))).x.tolist() == np.eye(2).tolist()


def test_an_npy_file_of_a_single_number_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array(3.0))
    with pytest.raises(InputError, match=r"x\.npy holds no rows: its shape is \(\)$"):
        read(tmp_path / "x.npy", Data(labels=str(tmp_path / "y.txt")))


def test_arrays_of_an_npz_file_that_play_no_part_are_said(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(4), y=[0, 1, 0, 1], weights=[1, 1, 1, 1])
    np.savez(
        tmp_path / "b.npz", x_train=np.eye(4), y_train=[0, 1, 0, 1], x_test=np.eye(4), y_test=[0, 1, 0, 1], y_true=[0]
    )
    for name, left in (("a", "weights"), ("b", "y_true")):
        assert f"left out of {tmp_path / name}.npz: '{left}'" in read(tmp_path / f"{name}.npz").notes


def test_a_test_part_without_a_training_part_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((4, 2)), y=[0, 1, 0, 1], x_test=np.zeros((2, 2)), y_test=[0, 1])
    with pytest.raises(InputError) as error:
        read(tmp_path / "a.npz")
    assert str(error.value) == (
        f"{tmp_path / 'a.npz'} has 'x_test' but not all of x_train, y_train, x_test, y_test; rename its arrays"
    )
