import warnings

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, recall_score

from labelnoise.metrics import balanced_accuracy, macro_f1, pair_counts, recall

RNG = np.random.default_rng(0)
Y = RNG.choice(5, 400, p=[0.7, 0.2, 0.06, 0.04, 0])  # the last class has no rows
BETTER, WORSE = (np.where(RNG.random(400) < hits, Y, RNG.integers(0, 5, 400)) for hits in (0.8, 0.1))
BLIND = np.zeros(400, int)  # predicts the largest class alone
TIMID = np.where(np.isin(BETTER, [2, 4]), 0, BETTER)  # never predicts the last class, nor one that has rows
PREDICTED = {"better": BETTER, "worse": WORSE, "blind": BLIND, "timid": TIMID}


def judged(score, y, predicted, **settings):
    with warnings.catch_warnings(action="ignore"):  # on classes without rows or predictions
        return score(y, predicted, **settings)


@pytest.mark.parametrize("predicted", PREDICTED.values(), ids=PREDICTED)
def test_recall_is_that_of_scikit_learn(predicted):
    expected = judged(recall_score, Y, predicted, labels=range(4), average=None)
    found = recall(confusion_matrix(Y, predicted, labels=range(5)))
    assert found[:4].tolist() == pytest.approx(expected.tolist(), abs=1e-15)
    assert found[4].isnan()


@pytest.mark.parametrize("predicted", PREDICTED.values(), ids=PREDICTED)
def test_balanced_accuracy_is_that_of_scikit_learn(predicted):
    expected = judged(balanced_accuracy_score, Y, predicted)
    assert balanced_accuracy(confusion_matrix(Y, predicted, labels=range(5))).item() == pytest.approx(expected)


@pytest.mark.parametrize("predicted", PREDICTED.values(), ids=PREDICTED)
def test_macro_f1_is_that_of_scikit_learn(predicted):
    expected = judged(f1_score, Y, predicted, average="macro")  # over classes that have rows or predictions
    assert macro_f1(confusion_matrix(Y, predicted, labels=range(5))).item() == pytest.approx(expected)


@pytest.mark.parametrize("metric", [recall, balanced_accuracy, macro_f1])
def test_every_run_has_its_own_from_pairs_that_were_counted(metric):
    runs = np.stack(list(PREDICTED.values()))
    alone = [metric(confusion_matrix(Y, each, labels=range(5))).nan_to_num().tolist() for each in runs]
    assert metric(pair_counts(runs, Y, 5).mT).nan_to_num().tolist() == alone


@pytest.mark.parametrize("metric", [recall, balanced_accuracy, macro_f1])
def test_they_come_in_float64_and_never_look_at_values(metric):
    assert metric(torch.ones(2, 2, dtype=torch.int64, device="meta")).dtype == torch.float64
