import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from torch import nn

from labelnoise import NoisyLabelClassifier
from labelnoise.errors import InputError

X, TRUE = make_blobs(150, centers=3, n_features=4, cluster_std=2.0, random_state=0)
Y = np.where(np.random.default_rng(0).uniform(size=150) < 0.2, (TRUE + 1) % 3, TRUE)


def small(**wishes):
    return NoisyLabelClassifier(
        **{"net__widths": "16", "epochs": 10, "learning_rate": 0.01, "random_state": 0} | wishes
    )


def own_net(outputs, width=8):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, outputs))


@pytest.mark.slow
def test_all_checks_of_scikit_learn_hold():
    found = check_estimator(NoisyLabelClassifier(), on_fail=None, on_skip=None)
    assert [(each["check_name"], each["exception"]) for each in found if each["status"] in ("failed", "xfail")] == []
    assert len(found) == len(list(estimator_checks_generator(NoisyLabelClassifier()))) > 40


def test_true_classes_are_predicted_from_wrong_labels():
    found = small(epochs=30).fit(X, Y)
    assert found.score(X, TRUE) > 0.9
    np.testing.assert_allclose(found.predict_proba(X).sum(1), 1)


def test_a_prediction_does_not_depend_on_the_rows_beside_it():
    found = small(epochs=3).fit(X, Y)
    alone = np.concatenate([found.predict_proba(X[row : row + 1]) for row in range(150)])
    np.testing.assert_allclose(found.predict_proba(X), alone, rtol=1e-12)


def test_labels_are_judged_by_networks_that_have_not_learnt_from_them():
    found = small(epochs=30).fit(X, Y)
    assert found.label_quality_[Y != TRUE].mean() < 0.3 < found.label_quality_[Y == TRUE].mean()
    assert abs(found.noise_rate_ - (Y != TRUE).mean()) < 0.1
    assert found.transition_.shape == (3, 3)
    assert [each["epoch"] for each in found.history_] == list(range(1, 31))


@pytest.mark.parametrize("names", [["a", "b", "c"], [-1.0, 2.0, 7.0], [False, True, False]])
def test_classes_are_those_of_the_labels(names):
    labels = np.array(names)[Y]
    found = small().fit(X, labels)
    assert found.classes_.tolist() == sorted(set(names))
    assert set(found.predict(X)) <= set(names)


def test_the_share_left_aside_decides_how_many_networks_there_are():
    assert len(small(validation_fraction=0.25, epochs=2).fit(X, Y).model_.members) == 4
    assert len(small(validation_fraction=0.5, epochs=2).fit(X, Y).model_.members) == 2


def test_parameters_of_the_network_are_found_by_clone_and_search():
    found = clone(small(net__widths="8,4"))
    assert found.get_params()["net__widths"] == "8,4"
    search = GridSearchCV(small(epochs=3), {"net__widths": ["4", "8"], "method": ["ce", "gce(q=0.5)"]}, cv=2).fit(X, Y)
    assert search.best_params_["net__widths"] in ("4", "8")


def test_it_works_in_a_pipeline_and_in_cross_validation():
    piped = make_pipeline(StandardScaler(), small(epochs=30))
    assert (cross_val_predict(piped, X, Y, cv=3) == TRUE).mean() > 0.85
    assert piped.set_params(noisylabelclassifier__net__widths="8").fit(X, Y).score(X, TRUE) > 0.85


def test_a_network_of_one_s_own_is_made_by_a_function():
    found = NoisyLabelClassifier(
        "co_teaching", net=own_net, net__width=16, epochs=30, learning_rate=0.01, random_state=0
    ).fit(X, Y)
    assert found.score(X, TRUE) > 0.85


def test_images_are_taken_as_they_are():
    images, digits = load_digits(n_class=3, return_X_y=True)
    found = small(epochs=8).fit(images.reshape(-1, 8, 8), digits)
    assert found.score(images.reshape(-1, 8, 8), digits) > 0.9


def test_columns_of_a_table_must_be_those_that_were_learnt_from():
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = small(epochs=2).fit(frame, Y)
    assert found.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[list("dcba")])


def test_the_same_random_state_gives_the_same_classifier():
    first, second, other = (small(random_state=seed, epochs=3).fit(X, Y).predict_proba(X) for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"method": "gcee"}, "unknown method 'gcee'"),
        ({"net": "mlpp"}, "unknown net 'mlpp'"),
        ({"net__width": 3}, "net 'mlp' has no setting 'width'"),
        ({"method": None}, "method must be a text"),
        ({"validation_fraction": "a"}, "validation_fraction must be a number, not 'a'"),
        ({"epochs": "3"}, "epochs must be a whole number, or None for what suits, not '3'"),
        ({"learning_rate": "a"}, "learning_rate must be a number"),
        ({"validation_fraction": 0.0}, "validation_fraction must be above 0"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"net": own_net(3), "net__widths": "8"}, "must be a function that makes"),
    ],
)
def test_wrong_parameters_are_refused_by_fit_with_a_sentence(wishes, message):
    with pytest.raises(InputError, match=message):
        small(**wishes).fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(InputError, match=r"one class, 0\.0;"):
        small().fit(X, np.zeros(150))


@pytest.mark.parametrize("name", ["epoch", "fit", "_further"])
def test_names_that_are_no_parameters_are_refused_at_once(name):
    found = small()
    for change in (found.set_params, NoisyLabelClassifier):
        with pytest.raises(ValueError, match=f"there is no parameter '{name}'; "):
            change(**{name: 3})
    assert callable(found.fit)


def test_an_attribute_of_the_user_s_is_no_parameter():
    found = small()
    found.remark = "mine"
    assert "remark" not in found.get_params()
    clone(found).fit(X, Y)


def test_a_search_may_draw_numbers_of_numpy():
    places = {"epochs": np.arange(2, 4), "batch_size": np.array([16]), "learning_rate": np.float32([0.01])}
    assert GridSearchCV(small(), places, cv=2, error_score="raise").fit(X, Y).best_params_["epochs"] in (2, 3)


@pytest.mark.parametrize(("method", "advice"), [("gce", 'try method="ce"'), ("ce", "give more rows of them")])
def test_a_class_that_is_never_predicted_is_warned_of(method, advice):
    generator = np.random.default_rng(0)
    rare = np.where(np.arange(200) < 8, "rare", "usual")
    with pytest.warns(UserWarning, match=f"predicted to be rare, .* {advice}$") as seen:
        small(method=method).fit(generator.normal(size=(200, 4)), rare)
    assert [each.filename for each in seen] == [__file__]


@pytest.mark.parametrize("rows", [1, 3])
def test_labels_that_are_said_not_to_be_judged_are_not_of_low_quality(rows):
    labels = np.append(TRUE, [3] * rows)
    with pytest.warns(UserWarning, match="predicted to be 3, so such labels cannot be judged"):
        found = small().fit(np.vstack([X, X[:rows]]), labels)
    assert (found.label_quality_[labels == 3] >= 0.5).all()


def test_what_auto_cannot_train_is_named():
    found = NoisyLabelClassifier("auto", net=own_net, epochs=2, random_state=0).fit(X, Y)
    assert "; logistic_normal was left out: the method has a head of its own" in found.choice_


def test_nothing_is_warned_of_where_all_classes_are_predicted(recwarn):
    small().fit(X, Y)
    assert not recwarn.list
