import hashlib

import numpy as np
import pytest

from labelnoise.data.standard.parts import as_labels, labels_in, sha256


def test_labels_have_their_own_memory():
    given = np.array([1, 2], np.uint8)
    labels = as_labels(given)
    labels[0] = 7
    assert labels.dtype == np.int64
    assert given.tolist() == [1, 2]


def test_a_digest_does_not_depend_on_how_an_array_lies_in_memory():
    values = np.arange(6, dtype=np.int64).reshape(2, 3)
    expected = hashlib.sha256(b"".join(int(value).to_bytes(8, "little") for value in values.flat)).hexdigest()
    for lying in (values, np.asfortranarray(values), values.astype(">i8"), values[::-1][::-1]):
        assert sha256(lying) == expected


@pytest.mark.parametrize("values", [[3, 0, 2], np.array([3, 0, 2], np.uint8), np.array([3, 0, 2], ">i4")])
def test_a_row_of_whole_numbers_is_a_row_of_labels(values):
    np.testing.assert_array_equal(labels_in(values), np.array([3, 0, 2]), strict=True)


@pytest.mark.parametrize("values", [[1.0], [True], ["1"], [2**70], (1, 2), 7, None, np.zeros(2), np.zeros((2, 2), int)])
def test_anything_else_is_none(values):
    assert labels_in(values) is None
