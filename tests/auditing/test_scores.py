import numpy as np
import pytest
import torch

from labelnoise.auditing.scores import NOBODY, score
from labelnoise.transition import confident_joint

ROWS, CLASSES = 400, 23


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(ROWS, CLASSES))
    probs = np.exp(logits)
    return (probs / probs.sum(1, keepdims=True)).astype(np.float32), rng.integers(CLASSES, size=ROWS)


def test_scores_agree_with_loops(table):
    probs, given = table
    columns = score((probs,), given).columns(given)
    for row in range(ROWS):
        p, own = probs[row].astype(float), float(probs[row, given[row]])
        entropy = -sum(each * np.log(each) for each in p)
        assert columns["self_confidence"][row] == pytest.approx(own)
        assert columns["margin"][row] == pytest.approx(own - max(np.delete(p, given[row])), abs=1e-6)
        assert columns["entropy_adjusted"][row] == pytest.approx(np.log(own) + entropy, abs=1e-5)


def test_the_shortlist_holds_the_largest_in_order(table):
    probs, given = table
    found = score((probs,), given).shortlist
    assert np.array_equal(found.classes, np.argsort(-probs, 1, kind="stable")[:, :10])
    assert np.array_equal(found.probs, -np.sort(-probs, 1)[:, :10])


def test_the_confident_joint_is_that_of_the_estimator(table):
    probs, given = table
    confident, counts = score((probs,), given).confident, np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (given[confident != NOBODY], confident[confident != NOBODY]), 1)
    shares = counts / counts.sum(1, keepdims=True)
    expected = confident_joint(torch.from_numpy(probs).double(), torch.from_numpy(given))
    np.testing.assert_allclose(shares * np.bincount(given)[:, None], expected, rtol=1e-9)


def test_rows_without_a_label_have_no_scores_and_move_no_threshold(table):
    probs, given = table
    some = given.copy()
    some[::3] = -1
    found, rest = score((probs,), some), score((probs[some >= 0],), some[some >= 0])
    assert np.isnan(found.own[::3]).all()
    assert not found.columns(some)["confident_joint"][::3].any()
    assert np.array_equal(found.confident[some >= 0], rest.confident)


def test_streamed_from_a_file_is_equal(table, tmp_path):
    probs, given = table
    np.save(tmp_path / "probs.npy", probs)
    streamed = score((np.load(tmp_path / "probs.npy", mmap_mode="r"),), given)
    for mine, theirs in zip(vars(score((probs,), given)).values(), vars(streamed).values(), strict=True):
        if isinstance(mine, np.ndarray):
            assert np.array_equal(mine, theirs)


def test_zeros_are_finite():
    given = np.array([0, 1])
    columns = score((np.eye(2, dtype=np.float32)[[1, 1]],), given).columns(given)
    assert all(np.isfinite(column).all() for column in columns.values())
