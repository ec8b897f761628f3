from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from labelnoise.data import DATASETS, Dataset, load
from labelnoise.data.pictures import Pictures
from labelnoise.errors import InputError

PATHS = np.array([b"a.jpg", b"b.jpg", b"c.jpg", b"d.jpg", b"e.jpg", b"f.jpg"])
GOOD = Dataset(
    "toy", torch.arange(12.0).view(6, 2), torch.tensor([0, 1, 2, 0, 1, 2]), None, ("ant", "bee", "cat"), tuple("abcdef")
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(0, 2)}, "data set 'toy' is empty, for x has shape (0, 2); give rows of two classes"),
        ({"x": torch.zeros(6, 0)}, "data set 'toy' is empty, for x has shape (6, 0); give rows of two classes"),
        ({"x": torch.zeros(6)}, "x must have a row for each example, (N, ...), not shape (6,)"),
        (
            {"x": torch.zeros(6, 2).long()},
            "x must hold floats or uint8 pixels, not torch.int64; convert it with .float()",
        ),
        ({"x": torch.zeros(7, 2)}, "x has 7 rows but y_given has 6; give one for each row"),
        ({"y_given": torch.zeros(5).long()}, "x has 6 rows but y_given has 5; give one for each row"),
        ({"y_true": torch.zeros(4).long()}, "x has 6 rows but y_true has 4; give one for each row"),
        ({"ids": ("a", "b")}, "x has 6 rows but ids has 2; give one for each row"),
        ({"ids": tuple("abcdea")}, "id 'a' occurs 2 times; each must be there once"),
        (
            {"y_given": torch.zeros(6)},
            "y_given must be a vector of int64, not torch.float32 of shape (6,); convert it",
        ),
        (
            {"y_given": torch.zeros(6, 1).long()},
            "y_given must be a vector of int64, not torch.int64 of shape (6, 1); convert it",
        ),
        ({"y_given": torch.tensor([0, 1, 3, 0, 1, 7])}, "y_given holds 3 in row 2; the 3 classes are 0 to 2"),
        ({"y_given": torch.tensor([0, 1, 2, 0, -1, 7])}, "y_given holds -1 in row 4; the 3 classes are 0 to 2"),
        ({"y_true": torch.tensor([0, 1, 2, 0, -2, 7])}, "y_true holds -2 in row 4; the 3 classes are 0 to 2"),
        (
            {"x": Pictures(Path(), np.array([], "S1"))},
            "data set 'toy' is empty, for x has shape (0, 3, 224, 224); give rows of two classes",
        ),
        ({"x": Pictures(Path(), np.array([b"a.jpg"]))}, "x has 1 rows but y_given has 6; give one for each row"),
        ({"y_given": torch.ones(6).long()}, "y_given holds only class 'bee'; at least two classes must occur"),
        ({"classes": ("ant",)}, "at least two classes are needed, but classes is ('ant',)"),
        ({"classes": ("ant", "bee", "ant")}, "class 'ant' occurs 2 times; each must be there once"),
    ],
)
def test_bad_data_are_refused_with_a_sentence(change, message):
    with pytest.raises(InputError) as error:
        replace(GOOD, **change)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite_is_named(value):
    x = torch.zeros(6, 2, 2)
    x[3, 1, 0] = x[5, 0, 0] = value
    with pytest.raises(InputError, match=r"^x holds NaN or infinity in row 3; drop the row or fill it in$"):
        replace(GOOD, x=x)


COLUMN = np.zeros((2, 1))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (COLUMN, np.array([0.0, 0.5]), "y must hold integers, but row 1 holds 0.5"),
        (COLUMN, torch.tensor([0.0, torch.nan]), "y must hold integers, but row 1 holds nan"),
        (COLUMN, np.array([0.0, 1.0]), "y must hold integers, but its type is float64; convert it"),
        (COLUMN, np.array(["a", "b"]), "y must hold numbers, not <U1; encode it first"),
        (np.array([["a"], ["b"]]), np.array([0, 1]), "x must hold numbers, not <U1; encode it first"),
        (COLUMN, np.array([0, 10**9]), "y holds 1000000000 in row 1, too large for a class; number the classes from 0"),
        (COLUMN, np.array([1, -1]), "y_given holds -1 in row 1; the 2 classes are 0 to 1"),
        (COLUMN[:0], np.array([], int), "data set 'data' is empty, for x has shape (0, 1); give rows of two classes"),
        (COLUMN, np.int64(1), "x has 2 rows but y_given has 1; give one for each row"),
    ],
)
def test_bad_arrays_are_refused_with_a_sentence(x, y, message):
    with pytest.raises(InputError) as error:
        Dataset.from_arrays(x, y)
    assert str(error.value) == message


def test_rows_are_numbered_where_no_ids_are_given():
    assert replace(GOOD, ids=()).ids == ("0", "1", "2", "3", "4", "5")


def test_classes_that_do_not_occur_are_kept():
    data = Dataset.from_arrays(np.zeros((2, 1)), np.array([0, 1]), classes=("ant", "bee", "cat"))
    assert data.classes == ("ant", "bee", "cat")


def test_arrays_without_class_names_number_their_classes():
    assert Dataset.from_arrays(np.zeros((2, 1)), np.array([0, 3])).classes == ("0", "1", "2", "3")


@pytest.mark.parametrize("dtype", [np.uint8, ">i4", np.int64, bool])
def test_integers_of_any_width_become_int64_labels(dtype):
    data = Dataset.from_arrays(np.zeros((3, 1)), np.array([0, 1, 1]).astype(dtype))
    assert data.y_given.dtype == torch.int64
    assert data.y_given.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("uint8", torch.uint8), ("float64", torch.float32), (">f4", torch.float32), ("int32", torch.float32)],
)
def test_arrays_of_pixels_stay_and_other_numbers_become_float32(given, kept):
    x = np.arange(6).reshape(3, 2).astype(given)[::-1]
    data = Dataset.from_arrays(x, np.array([0, 1, 0]))
    assert data.x.dtype == kept
    assert data.x.tolist() == [[4, 5], [2, 3], [0, 1]]


def test_a_data_set_does_not_change_with_the_array_it_came_from():
    x, y = np.zeros((2, 1), dtype=np.float32), np.array([0, 1])
    data = Dataset.from_arrays(x, y)
    x[0], y[0] = 9, 1
    assert data.x.tolist() == [[0], [0]]
    assert data.y_given.tolist() == [0, 1]


def test_a_data_set_is_frozen():
    with pytest.raises(FrozenInstanceError):
        GOOD.name = "other"


def test_length_and_shape_are_those_of_the_inputs():
    data = Dataset.from_arrays(torch.zeros(5, 1, 8, 8), torch.tensor([0, 1, 0, 1, 0]))
    assert len(data) == 5
    assert data.shape == (1, 8, 8)


def test_noise_rate_is_the_share_of_wrong_labels():
    assert replace(GOOD, y_true=torch.tensor([0, 1, 2, 0, 0, 0])).noise_rate == pytest.approx(2 / 6, abs=1e-15)


def test_a_label_of_an_input_that_belongs_to_no_class_is_wrong():
    assert replace(GOOD, y_true=torch.tensor([0, 1, -1, 0, -1, 2])).noise_rate == pytest.approx(2 / 6, abs=1e-15)


def test_noise_rate_is_unknown_without_the_truth():
    assert GOOD.noise_rate is None


def test_load_passes_the_seed_to_the_builder_of_that_name():
    assert torch.equal(load("gaussians", 3).x, DATASETS.get("gaussians")(3).x)


def test_load_names_the_nearest_data_set():
    known = "unknown data set 'digit', and no file or folder of that name"
    with pytest.raises(InputError, match=rf"^{known}; did you mean 'digits'\?$"):
        load("digit", 0)


def test_every_part_of_the_content_is_in_the_fingerprint():
    changes = [
        {},
        {"x": GOOD.x + 1},
        {"x": GOOD.x.view(6, 1, 2)},
        {"y_given": GOOD.y_given.flip(0)},
        {"y_true": GOOD.y_given},
        {"classes": ("ant", "bee", "dog")},
        {"ids": tuple("abcdez")},
        {"test": torch.tensor([0])},
    ]
    prints = [replace(GOOD, **change).fingerprint for change in changes]
    assert len(set(prints)) == len(changes)
    assert replace(GOOD, x=GOOD.x.clone()).fingerprint == prints[0]


def test_images_on_disk_have_the_length_and_shape_of_what_is_cut_out_of_them():
    data = replace(GOOD, x=Pictures(Path("images"), PATHS, size=8, resize=10))
    assert len(data) == 6
    assert data.shape == (3, 8, 8)


def test_the_fingerprint_of_images_on_disk_is_of_their_paths_and_how_they_are_cut_wherever_they_lie():
    images = [
        Pictures(Path("images"), PATHS, size=8, resize=10),
        Pictures(Path("images"), PATHS[::-1].copy(), size=8, resize=10),
        Pictures(Path("images"), PATHS, size=8, resize=11),
        Pictures(Path("images"), PATHS, size=7, resize=10),
    ]
    prints = [replace(GOOD, x=x).fingerprint for x in images]
    assert len(set(prints)) == len(images)
    elsewhere = Pictures(Path("/elsewhere"), PATHS.astype("S9"), size=8, resize=10)
    assert replace(GOOD, x=elsewhere).fingerprint == prints[0]


@pytest.mark.parametrize("rows", [[], [0, 1, 2, 3, 4, 5]])
def test_some_but_not_all_rows_may_be_kept_for_the_test(rows):
    with pytest.raises(InputError, match=r"of 6 rows are kept for the test; keep some, not all$"):
        replace(GOOD, test=torch.tensor(rows).long())


def test_rows_not_kept_for_the_test_can_be_learnt_from():
    data = Dataset.from_arrays(np.zeros((6, 1)), np.arange(6) % 2)
    assert data.learnable.tolist() == [0, 1, 2, 3, 4, 5]
    assert replace(data, test=torch.tensor([1, 4])).learnable.tolist() == [0, 2, 3, 5]


def test_the_noise_rate_is_that_of_rows_to_learn_from():
    y, true = np.array([0, 1, 0, 1]), np.array([1, 1, 0, 1])
    data = Dataset.from_arrays(np.zeros((4, 1)), y, y_true=true)
    assert data.noise_rate == 0.25
    assert replace(data, test=torch.tensor([2, 3])).noise_rate == 0.5
