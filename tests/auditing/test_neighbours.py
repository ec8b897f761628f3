import numpy as np
import pytest

from labelnoise.auditing.neighbours import checked_embeddings, neighbour_shares
from labelnoise.errors import InputError

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(40, 6)).astype(np.float32)
GIVEN = RNG.integers(-1, 3, 40)


def naive(vectors, given, classes, nearest):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = []
    for row in range(len(given)):
        others = [other for other in range(len(given)) if other != row and given[other] >= 0]
        others.sort(key=lambda other: -float(unit[row] @ unit[other]))
        labels = [int(given[other]) for other in others[:nearest]]
        rows.append([labels.count(label) / len(labels) for label in range(classes)])
    return np.array(rows)


@pytest.mark.parametrize("nearest", [1, 5, 10, 100])
def test_shares_are_those_of_the_nearest_other_rows_with_a_label(nearest):
    expected = naive(VECTORS, GIVEN, 3, nearest)
    np.testing.assert_allclose(neighbour_shares(VECTORS, GIVEN, 3, nearest), expected, atol=1e-6)


def test_rows_that_are_the_same_do_not_count_themselves():
    vectors = np.ones((3, 2), np.float32)
    found = neighbour_shares(vectors, np.array([0, 1, 1]), 2, nearest=2)
    assert found.tolist() == [[0, 1], [0.5, 0.5], [0.5, 0.5]]


def test_where_no_other_row_has_a_label_all_classes_are_alike():
    assert neighbour_shares(VECTORS[:2], np.array([0, -1]), 4)[0].tolist() == [0.25] * 4


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.zeros((3, 2)), "a row for each of the 4 labels"),
        (np.zeros(4), "a row for each of the 4 labels"),
        (np.array([["a"]] * 4), "must be numbers"),
        (np.array([[0.0], [1.0], [np.nan], [1.0]]), "row 2 of embeddings holds NaN"),
    ],
)
def test_what_is_no_embedding_is_refused(embeddings, message):
    with pytest.raises(InputError, match=message):
        checked_embeddings(embeddings, 4)


def test_images_are_flattened():
    assert checked_embeddings(np.zeros((4, 2, 3)), 4).shape == (4, 6)
