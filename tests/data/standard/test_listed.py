import numpy as np
import pytest
import torch

from labelnoise.data.standard.listed import NAMES, as_arrays, from_arrays
from labelnoise.errors import InputError


@pytest.fixture
def folder(tmp_path):
    for row in range(6):
        (tmp_path / f"{row}.jpg").touch()
    return tmp_path


def listed(folder, notes=("something was left out",)):
    paths = [f"{row}.jpg".encode() for row in range(6)]
    return as_arrays(folder, paths, [0, 1, 2, 0, 1, 2], train=4, classes=("ant", "bee", "cat"), notes=notes)


def test_arrays_have_one_axis_and_no_objects_and_their_names(folder):
    for notes in ((), ("a", "b")):
        arrays = listed(folder, notes)
        assert tuple(arrays) == NAMES
        assert all(array.ndim == 1 and not array.dtype.hasobject for array in arrays.values())


@pytest.mark.parametrize("true", [True, False])
def test_a_data_set_has_what_was_listed(folder, true):
    data = from_arrays("insects", listed(folder), true=true)
    assert data.x.files([0, 5]) == [str(folder / "0.jpg"), str(folder / "5.jpg")]
    assert data.shape == (3, 224, 224)
    assert data.y_given.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.y_true is data.y_given if true else data.y_true is None
    assert data.test.tolist() == [4, 5]
    assert data.classes == ("ant", "bee", "cat")
    assert data.ids == tuple(f"{row}.jpg" for row in range(6))
    assert data.notes == ("something was left out",)
    assert data.encoding == {"kind": "images", "shape": [3, 224, 224], "resize": 256, "window": 224}


def test_some_rows_keep_their_labels_and_parts(folder):
    data = from_arrays("insects:few", listed(folder), true=False, rows=np.array([1, 3, 4]))
    assert data.ids == ("1.jpg", "3.jpg", "4.jpg")
    assert torch.equal(data.y_given, torch.tensor([1, 0, 1]))
    assert data.test.tolist() == [2]


def test_a_missing_image_is_named_when_the_list_is_made(folder):
    (folder / "3.jpg").unlink()
    with pytest.raises(InputError) as error:
        listed(folder)
    assert str(error.value) == f"there is no image {folder / '3.jpg'}; unpack all images below {folder}"


def test_images_that_have_moved_are_missed_when_the_list_is_used(folder):
    arrays = listed(folder)
    (folder / "0.jpg").unlink()
    with pytest.raises(InputError) as error:
        from_arrays("insects:few", arrays, true=False)
    advice = "if the images have moved, convert insects again"
    assert str(error.value) == f"there is no image {folder / '0.jpg'}; {advice}"


def test_of_many_images_some_are_looked_for(tmp_path):
    paths = [f"{row}.jpg".encode() for row in range(100_000)]
    for row in range(0, 100_000, 500):
        (tmp_path / f"{row}.jpg").touch()
    arrays = as_arrays(tmp_path, paths, [0] * 100_000, train=5, classes=("a", "b"))
    assert arrays["test"].sum() == 99_995
