"""`NoisyLabelClassifier`: every method of this package behind scikit-learn's fit and predict."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from warnings import warn

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from labelnoise.config import Optimiser
from labelnoise.crossfit.cut import cut, possible_folds
from labelnoise.crossfit.train import CrossFit, Maker, Net, Plan, suited
from labelnoise.data.arrays import from_array
from labelnoise.data.dataset import Dataset
from labelnoise.data.factor import Origin
from labelnoise.data.rows import numbered
from labelnoise.errors import InputError
from labelnoise.estimator import saved
from labelnoise.estimator.choice import PLAIN, choose
from labelnoise.estimator.parameters import number, plain, text, whole
from labelnoise.estimator.quality import quality
from labelnoise.registry import nearest
from labelnoise.results.model import Member, Model, model_of
from labelnoise.sweep.run import find_device
from labelnoise.types import NetFactory

NET = "net__"  # begins the names of a network's own parameters


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator):
    """Learns from labels that are partly wrong, and says how many are, and which.

    The rows are cut into parts of a `validation_fraction` each. One network for each part learns from all others and
    takes its own to choose the epoch; all are trained as one job, and a prediction is the mean of their probabilities.
    So every row is judged by a network that has not learnt from it: `transition_`, `noise_rate_` and `label_quality_`
    are those of an audit by these networks.

    method: a name that `labelnoise list methods` shows, with settings in brackets, as `gce(q=0.5)`; `auto` tries a few.
    net: `auto` (by the shape of the inputs), a name of `labelnoise list nets`, or a function that makes a network of
    its number of outputs; parameters `net__…` are its settings.
    epochs, batch_size: None takes what suits the number of rows.
    """

    def __init__(
        self,
        method: str = "gce",
        *,
        net: Net = "auto",
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: Any = None,
        **net__: Any,
    ) -> None:
        self.method = method
        self.net = net
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.set_params(**net__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those of the network among them."""
        return {**super().get_params(deep), **self._further}

    def set_params(self, **params: Any) -> Self:
        """Change some; as scikit-learn has it, names are checked here and values by `fit`."""
        known = self._get_param_names()
        if unknown := [name for name in params if name not in known and not name.startswith(NET)]:
            raise InputError(f"there is no parameter {unknown[0]!r}; {nearest(unknown[0], [*known, NET])}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from given labels of rows of numbers, or of images (n, H, W), (n, H, W, C) or (n, C, H, W)."""
        inputs, labels = validate_data(self, X, y, allow_nd=True, dtype="numeric")
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y holds one class, {plain(self.classes_[0])!r}; at least two must occur")
        plan = self._plan(inputs, codes)
        fit, self.scores_, self.choice_ = choose(text("method", self.method), plan)
        self._warn_of_unpredicted(fit)
        self.method_, self.history_ = fit.method.name, fit.history
        found = quality(fit.probs, plan.dataset.y_given, plan.seed)
        self.transition_, self.label_quality_ = found.transition, found.labels
        self.noise_rate_, self.noise_rate_interval_ = found.noise_rate, found.noise_rate_interval
        self.model_ = _model(fit, None if isinstance(plan.net, str) else plan.factory)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the true classes, (n, K), in the order of `classes_`."""
        check_is_fitted(self, "model_")
        inputs = validate_data(self, X, reset=False, allow_nd=True, dtype="numeric")
        probs = self.model_.predict(inputs).probs.astype(np.float64)
        scaled: NDArray[np.float64] = probs / probs.sum(1, keepdims=True)
        return scaled

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def save(self, path: Path | str) -> None:
        """Write the fitted classifier as safetensors, which are no pickle; a file that is there is not overwritten."""
        check_is_fitted(self, "model_")
        saved.save(self, Path(path))

    @classmethod
    def load(cls, path: Path | str, *, net: Maker | None = None) -> Self:
        """Read what `save` wrote; `net` is the function that makes the network, where it was no name."""
        return saved.load(cls, Path(path), net)

    @property
    def net_settings(self) -> dict[str, Any]:
        """Parameters of the network by their own names."""
        return {name.removeprefix(NET): plain(value) for name, value in self._further.items()}

    @property
    def _further(self) -> dict[str, Any]:
        # beside those with names in the signature
        return {name: value for name, value in vars(self).items() if name.startswith(NET)}

    def _warn_of_unpredicted(self, fit: CrossFit) -> None:
        predicted = set(fit.probs.argmax(1).tolist())
        if unpredicted := [str(name) for code, name in enumerate(self.classes_) if code not in predicted]:
            advice = "give more rows of them" if fit.method.name == PLAIN else f'try method="{PLAIN}"'
            warn(
                f"no row that the networks left aside is predicted to be {', '.join(unpredicted)}, so such labels "
                f"cannot be judged, and hardly any new row will be given them; {advice}",
                UserWarning,
                stacklevel=3,
            )

    def _plan(self, inputs: NDArray[Any], codes: NDArray[Any]) -> Plan:
        aside = number("validation_fraction", self.validation_fraction)
        if not 0 < aside <= 0.5:
            raise InputError(f"validation_fraction must be above 0 and at most 0.5, not {aside}")
        rows = from_array("X", inputs, codes, Origin("X"))
        dataset = Dataset(
            "X", rows.inputs.x, torch.from_numpy(codes), None, numbered(len(self.classes_)), encoding=rows.encoding
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds, _ = possible_folds(max(2, round(1 / aside)), len(dataset))
        epochs, batch = whole("epochs", self.epochs), whole("batch_size", self.batch_size)
        net, train = suited(dataset, len(dataset), epochs=epochs, batch=batch)
        train = replace(train, optimiser=Optimiser(lr=number("learning_rate", self.learning_rate)))
        splits = cut(dataset.y_given, folds, seed)
        chosen = net if isinstance(self.net, str) and self.net == "auto" else plain(self.net)
        return Plan(dataset, splits, chosen, self.net_settings, train, seed, find_device(self.device))


def _model(fit: CrossFit, net: NetFactory | None) -> Model:
    # with the weights of the epochs that noisy validation prefers
    training, dataset = fit.training, fit.plan.dataset
    training.executor.restore_best()
    scores = training.best_score.tolist()
    members = {r: Member(config, scores[r]) for r, config in enumerate(fit.plan.configs(fit.method))}
    facts = {"shape": list(dataset.shape), "classes": list(dataset.classes), "samples": training.spec.samples}
    facts["encoding"] = dict(dataset.encoding)
    return saved.predictor(*model_of(training.executor, members, facts), net)
