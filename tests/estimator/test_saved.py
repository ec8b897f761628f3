import json

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.datasets import make_blobs
from torch import nn

from labelnoise import NoisyLabelClassifier
from labelnoise.errors import InputError

X, Y = make_blobs(60, centers=3, n_features=4, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def own_net(outputs, width=8):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, outputs))


def fitted(labels=Y, x=X, **wishes):
    usual = {"epochs": 3, "net__widths": "8", "random_state": 0}
    return NoisyLabelClassifier(**usual | wishes).fit(x, labels)


@pytest.mark.parametrize("method", ["gce", "forward", "heteroscedastic", "co_teaching"])
def test_a_classifier_predicts_the_same_after_it_was_saved(tmp_path, method):
    saved = fitted(method=method)
    saved.save(tmp_path / "own.safetensors")
    found = NoisyLabelClassifier.load(tmp_path / "own.safetensors")
    np.testing.assert_array_equal(found.predict_proba(X), saved.predict_proba(X))


def test_parameters_and_all_that_was_fitted_come_back(tmp_path):
    saved = fitted(x=FRAME)
    saved.save(tmp_path / "own.safetensors")
    found = NoisyLabelClassifier.load(tmp_path / "own.safetensors")
    assert found.get_params() == saved.get_params()
    for name in ("n_features_in_", "noise_rate_", "history_", "choice_", "method_", "scores_"):
        assert getattr(found, name) == getattr(saved, name)
    for name in ("classes_", "noise_rate_interval_", "transition_", "label_quality_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(saved, name))


@pytest.mark.parametrize(
    "names", [np.array(["x", "yy", "z"]), np.array([0.0, 1.0, 5.0]), np.array(["p", "q", "r"], object)]
)
def test_classes_keep_their_type(tmp_path, names):
    saved = fitted(names[Y])
    saved.save(tmp_path / "own.safetensors")
    found = NoisyLabelClassifier.load(tmp_path / "own.safetensors")
    assert found.classes_.dtype == saved.classes_.dtype
    assert (found.predict(X) == saved.predict(X)).all()


def test_the_file_holds_tensors_and_plain_facts(tmp_path):
    fitted().save(tmp_path / "own.safetensors")
    with safe_open(tmp_path / "own.safetensors", framework="pt") as file:
        facts = json.loads(file.metadata()["facts"])
    assert facts["kind"] == "NoisyLabelClassifier"
    assert facts["parameters"]["net__widths"] == "8"


def test_a_function_that_made_the_network_is_given_again(tmp_path):
    saved = NoisyLabelClassifier(net=own_net, net__width=5, epochs=3, random_state=0).fit(X, Y)
    saved.save(tmp_path / "own.safetensors")
    found = NoisyLabelClassifier.load(tmp_path / "own.safetensors", net=own_net)
    np.testing.assert_array_equal(found.predict_proba(X), saved.predict_proba(X))
    with pytest.raises(InputError, match="made by a function; give it as net"):
        NoisyLabelClassifier.load(tmp_path / "own.safetensors")


def test_a_network_with_a_name_needs_no_function(tmp_path):
    fitted().save(tmp_path / "own.safetensors")
    with pytest.raises(InputError, match="is 'auto'; leave net out"):
        NoisyLabelClassifier.load(tmp_path / "own.safetensors", net=own_net)


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "own.safetensors").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        fitted().save(tmp_path / "own.safetensors")
    assert (tmp_path / "own.safetensors").read_text() == "mine"


def test_what_json_cannot_hold_is_refused(tmp_path):
    saved = fitted()
    saved.set_params(epochs=np.int64(3), net__widths=object())
    with pytest.raises(InputError, match="cannot be saved"):
        saved.save(tmp_path / "own.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"no safetensors", None])
def test_another_file_is_no_classifier(tmp_path, content):
    path = tmp_path / "other.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="no classifier that labelnoise has saved"):
        NoisyLabelClassifier.load(path)


def test_a_model_of_a_comparison_is_no_classifier(tmp_path):
    from labelnoise.engine import checkpoint

    checkpoint.save(tmp_path / "model.safetensors", {}, {"format": 1})
    with pytest.raises(InputError, match="holds no classifier"):
        NoisyLabelClassifier.load(tmp_path / "model.safetensors")


def test_an_unfitted_classifier_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        NoisyLabelClassifier().save(tmp_path / "own.safetensors")


def test_numbers_of_numpy_come_back_as_plain_ones(tmp_path):
    wishes = {"epochs": np.int64(2), "learning_rate": np.float32(0.5), "random_state": np.int64(3)}
    fitted(**wishes).save(tmp_path / "own.safetensors")
    found = NoisyLabelClassifier.load(tmp_path / "own.safetensors").get_params()
    assert {name: found[name] for name in wishes} == {"epochs": 2, "learning_rate": 0.5, "random_state": 3}
