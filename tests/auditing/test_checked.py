from dataclasses import replace

import numpy as np
import pytest

from labelnoise.auditing.checked import check_evidence, checked_ids
from labelnoise.auditing.evidence import Evidence
from labelnoise.errors import InputError

GOOD = Evidence(np.array([0, 1, -1]), np.full((3, 2), 0.5, np.float32), ("a", "b"))


def test_good_evidence_passes():
    check_evidence(GOOD)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"probs": np.full(3, 0.5, np.float32)}, "probs must be numbers of shape"),
        ({"probs": np.ones((3, 2), int)}, "probs must be numbers of shape"),
        ({"probs": np.ones((3, 1), np.float32)}, "one class only"),
        ({"classes": ("a",)}, "2 columns for 1 classes"),
        ({"given": np.array([0, 1])}, "3 rows but there are 2 labels"),
        ({"given": np.array([0, 2, 1])}, "row 1 has label 2"),
        ({"given": np.array([-1, -1, -1])}, "no row has a label"),
        ({"margins": np.zeros(2, np.float32)}, "margins must be 3 numbers"),
        ({"others": (np.ones((3, 3), np.float32),)}, "must have the shape of probs"),
        ({"neighbours": np.ones((2, 2), np.float32)}, "must have the shape of probs"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(change, sentence):
    with pytest.raises(InputError, match=sentence):
        check_evidence(replace(GOOD, **change))


def test_ids_are_kept_or_counted():
    assert checked_ids(None, 3).tolist() == [0, 1, 2]
    assert checked_ids(["x", "y"], 2).tolist() == ["x", "y"]
    assert checked_ids(None, 3).name == checked_ids(["x"], 1).name == "id"


def test_an_id_may_be_a_tuple():
    ids = [("left", 1), ("left", 2)]
    assert checked_ids(ids, 2).tolist() == ids
    assert checked_ids(ids, 2).name == "id"


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (["x"], "1 ids for 3 rows"),
        (["x", "y", "x"], "rows 0 and 2 have the same id 'x'"),
        ([("x", 1), ("y", 1), ("x", 1)], r"rows 0 and 2 have the same id \('x', 1\)"),
    ],
)
def test_ids_that_name_no_row_are_refused(ids, sentence):
    with pytest.raises(InputError, match=sentence):
        checked_ids(ids, 3)
