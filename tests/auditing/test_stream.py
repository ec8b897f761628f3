import numpy as np
import pytest

from labelnoise.auditing.stream import PIECE, each_piece, taken
from labelnoise.errors import InputError


def collected(sources, **settings):
    found = np.full(sources[0].shape, np.nan, np.float32)

    def work(part, probs):
        found[part] = probs

    each_piece(sources, work, **settings)
    return found


@pytest.fixture
def table():
    rows = np.random.default_rng(0).random((3 * PIECE // 100 + 7, 100), dtype=np.float32)  # more than three pieces
    return rows / rows.sum(1, keepdims=True)


def test_pieces_together_are_the_whole(table):
    assert np.array_equal(collected((table,), check=True), table)


def test_several_sources_are_averaged(table):
    other = table[:, ::-1]
    np.testing.assert_allclose(collected((table, other)), (table + other) / 2, rtol=1e-6)


def test_taken_looks_up_single_classes(table):
    rows, labels = np.array([5, 0]), np.array([99, 3])
    assert taken((table,), rows, labels).tolist() == [table[5, 99], table[0, 3]]
    mean = (table[5, 99] + table[5, 0]) / 2
    assert taken((table, table[:, ::-1]), rows, labels)[0] == pytest.approx(mean)


@pytest.mark.parametrize("value", [np.nan, -0.1, np.inf, 2.0])
def test_the_row_that_holds_no_probabilities_is_named(table, value):
    table[5000, 7] = value
    with pytest.raises(InputError, match="row 5000 of probs holds no probabilities that add up to 1"):
        collected((table,), check=True)


def test_half_precision_adds_up_closely_enough(table):
    collected((table.astype(np.float16),), check=True)
