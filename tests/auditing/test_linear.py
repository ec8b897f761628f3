import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelnoise.auditing.linear import linear_probs
from labelnoise.crossfit.cut import cut

RNG = np.random.default_rng(0)
GIVEN = RNG.integers(0, 3, 80)
VECTORS = (np.eye(3)[GIVEN] @ RNG.normal(size=(3, 5)) + 0.5 * RNG.normal(size=(80, 5))).astype(np.float32)


def test_each_row_is_judged_by_a_regression_on_the_others():
    import torch

    found = linear_probs(VECTORS, GIVEN, 3, folds=4, seed=1)
    train, aside, _ = (rows.numpy() for rows in cut(torch.from_numpy(GIVEN), 4, 1)[2])
    scaler = StandardScaler().fit(VECTORS[train])
    model = LogisticRegression(max_iter=200).fit(scaler.transform(VECTORS[train]), GIVEN[train])
    np.testing.assert_allclose(found[aside], model.predict_proba(scaler.transform(VECTORS[aside])), atol=1e-3)


def test_a_class_that_a_fold_lacks_has_no_probability_there():
    given = np.array([0, 1] * 10 + [2])
    found = linear_probs(VECTORS[:21], given, 4, folds=3)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    assert found[20, 2] == 0
    assert (found[:, 3] == 0).all()


def test_a_fold_of_one_class_knows_no_other():
    found = linear_probs(VECTORS[:3], np.array([0, 0, 1]), 2, folds=3)
    assert found[2].tolist() == [1.0, 0.0]


def test_rows_without_a_label_are_judged_by_all():
    given = GIVEN.copy()
    given[:10] = -1
    found = linear_probs(VECTORS, given, 3)
    assert (found[:10].argmax(1) == GIVEN[:10]).mean() > 0.8
