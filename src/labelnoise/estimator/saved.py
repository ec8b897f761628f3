"""A fitted classifier in one file: weights and arrays as safetensors, all else as JSON in its header."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from labelnoise.crossfit.train import Maker, made_by
from labelnoise.engine import checkpoint
from labelnoise.errors import InputError
from labelnoise.estimator.parameters import plain
from labelnoise.results.model import Model
from labelnoise.types import NetFactory

if TYPE_CHECKING:
    from labelnoise.estimator.classifier import NoisyLabelClassifier

Classifier = TypeVar("Classifier", bound="NoisyLabelClassifier")
KIND = "NoisyLabelClassifier"
PLAIN = ("n_features_in_", "noise_rate_", "history_", "choice_", "method_", "scores_")  # fitted, as JSON
ARRAYS = ("noise_rate_interval_", "transition_", "label_quality_")
WEIGHTS = "model|"
ADVICE = "it is damaged, or no classifier that labelnoise has saved"


def save(classifier: "NoisyLabelClassifier", path: Path) -> None:
    """Write a fitted classifier; a file that is there already is not overwritten."""
    if path.exists():
        raise InputError(f"{path} is there already; choose another name, or remove it")
    facts = {
        "kind": KIND,
        "parameters": _parameters(classifier),
        "classes": {"dtype": classifier.classes_.dtype.str, "names": classifier.classes_.tolist()},
        "fitted": {name: getattr(classifier, name) for name in PLAIN},
        "features": list(getattr(classifier, "feature_names_in_", ())),
        "model": classifier.model_.facts,
    }
    tensors = {name: torch.from_numpy(getattr(classifier, name)) for name in ARRAYS}
    tensors |= {WEIGHTS + name: value for name, value in classifier.model_.weights.items()}
    try:
        checkpoint.save(path, tensors, facts)
    except TypeError as problem:
        raise InputError(f"the classifier cannot be saved ({problem}); let parameters and classes be plain") from None


def load(cls: type[Classifier], path: Path, net: Maker | None) -> Classifier:
    """Read a classifier; a network that a function made needs that function again, for a file holds no code."""
    tensors, facts = checkpoint.load(path, ADVICE)
    if facts.get("kind") != KIND:
        raise InputError(f"{path} holds no classifier; {ADVICE}")
    try:
        return _restored(cls, tensors, facts, net)
    except (LookupError, TypeError) as problem:
        raise InputError(f"{path} cannot be read ({problem}); {ADVICE}") from None


def _restored(
    cls: type[Classifier], tensors: dict[str, Tensor], facts: dict[str, Any], net: Maker | None
) -> Classifier:
    parameters = facts["parameters"]
    if isinstance(net, str) or (parameters["net"] is None) == (net is None):
        wanted = "was made by a function; give it as net" if net is None else f"is {parameters['net']!r}; leave net out"
        raise InputError(f"the network of this classifier {wanted}")
    found = cls(**parameters | ({} if net is None else {"net": net}))
    for name in PLAIN:
        setattr(found, name, facts["fitted"][name])
    for name in ARRAYS:
        setattr(found, name, tensors[name].numpy())
    found.classes_ = np.array(facts["classes"]["names"], dtype=facts["classes"]["dtype"])
    if facts["features"]:
        found.feature_names_in_ = np.array(facts["features"], dtype=object)
    weights = {name.removeprefix(WEIGHTS): value for name, value in tensors.items() if name.startswith(WEIGHTS)}
    found.model_ = predictor(weights, facts["model"], None if net is None else made_by(net, found.net_settings))
    return found


def predictor(weights: dict[str, Tensor], facts: dict[str, Any], net: NetFactory | None) -> Model:
    """A model that predicts in double precision: in single it would matter which rows stand beside a row."""
    return Model(weights, facts, net=net, dtype=torch.float64)


def _parameters(classifier: "NoisyLabelClassifier") -> dict[str, Any]:
    # what JSON can hold: no function, and no generator of random numbers
    found = {name: plain(value) for name, value in classifier.get_params().items()}
    return found | {
        "net": found["net"] if isinstance(found["net"], str) else None,
        "random_state": found["random_state"] if isinstance(found["random_state"], int) else None,
    }
