"""Out-of-fold probabilities by logistic regression on an embedding, where no network is trained."""

import warnings

import numpy as np
import torch
from numpy.typing import NDArray

from labelnoise.crossfit.cut import cut, possible_folds


def linear_probs(
    embeddings: NDArray[np.float32], given: NDArray[np.int64], classes: int, *, folds: int = 5, seed: int = 0
) -> NDArray[np.float32]:
    """(n, K): each row by a regression that has not learnt from it, a row without a label (-1) by all of them."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    count, _ = possible_folds(folds, int((given >= 0).sum()))
    total, times = np.zeros((len(given), classes), np.float32), np.zeros((len(given), 1), np.float32)
    for train, aside, unlabelled in cut(torch.from_numpy(given), count, seed):
        judged, labels = torch.cat([aside, unlabelled]).numpy(), given[train.numpy()]
        times[judged] += 1
        if (only := np.unique(labels)).size == 1:  # of which there is nothing to tell apart
            total[judged, only[0]] += 1
            continue
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # probabilities are good enough before the last digit
            model.fit(embeddings[train.numpy()], labels)
        total[np.ix_(judged, model.classes_)] += model.predict_proba(embeddings[judged])
    return total / times
