from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from labelnoise.auditing import examine as module
from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.examine import examine
from labelnoise.errors import InputError

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def audited(world):
    return examine(world.evidence)


def test_the_probability_is_calibrated(world, audited):
    probability = audited.issues.wrong_probability.to_numpy()
    bins = np.digitize(probability, np.linspace(0, 1, 11)[1:-1])
    for each in range(10):
        inside = bins == each
        if inside.sum() >= 300:
            assert probability[inside].mean() == pytest.approx(world.wrong[inside].mean(), abs=0.05)


def test_rows_are_ranked_nearly_as_well_as_by_the_known_posterior(world, audited):
    joint = world.clean * world.T[:, world.given].T
    known = 1 - joint[np.arange(len(joint)), world.given] / joint.sum(1)
    best = average_precision_score(world.wrong, known)
    assert average_precision_score(world.wrong, audited.issues.wrong_probability) > best - 0.03


def test_rate_and_probabilities_agree(world, audited):
    low, high = audited.noise_rate_interval
    assert low <= world.wrong.mean() <= high
    assert audited.issues.wrong_probability.mean() == pytest.approx(audited.noise_rate, abs=1e-6)
    assert audited.per_class.wrong.sum() == pytest.approx(audited.noise_rate * len(world.given), rel=1e-5)


def test_suggested_labels_are_right_more_often_than_given_ones(world, audited):
    names = np.array(world.evidence.classes)
    right = (audited.issues.suggested.to_numpy() == names[world.true]).mean()
    assert right > (audited.issues.given.to_numpy() == names[world.true]).mean() + 0.05


def test_a_label_is_suggested_where_the_given_one_is_likelier_wrong_and_an_alternative_always(audited):
    issues = audited.issues
    assert (issues.alternative != issues.given).all()
    likely = issues.wrong_probability > 0.5
    assert (issues.suggested[likely] == issues.alternative[likely]).all()
    assert (issues.suggested[~likely] == issues.given[~likely]).all()


def test_precision_is_what_was_expected(world, audited):
    ranked = world.wrong[np.argsort(-audited.issues.wrong_probability.to_numpy())]
    for k in (500, 1000, 2000):
        assert audited.precision.expected[k] == pytest.approx(ranked[:k].mean(), abs=0.05)
        assert audited.precision.planted[k] == pytest.approx(ranked[:k].mean(), abs=0.1)


def test_planted_flips_are_found_about_as_often_as_wrong_labels(world, audited):
    first = np.argsort(-audited.issues.wrong_probability.to_numpy())[: round(audited.noise_rate * len(world.given))]
    assert audited.planted["found"] == pytest.approx(world.wrong[first].sum() / world.wrong.sum(), abs=0.06)


def test_the_table_keeps_order_and_ids(small):
    ids = [f"row {number}" for number in range(len(small.given))]
    audit = examine(small.evidence, ids=ids)
    assert audit.issues.index.tolist() == ids
    assert audit.issues.index.name == "id"
    assert list(audit.issues)[:4] == ["given", "suggested", "wrong_probability", "reason"]
    assert audit.issues.given.tolist() == [small.evidence.classes[label] for label in small.given]
    assert audit.transition.index.name == "true"
    assert audit.transition.columns.name == "given"


def test_the_same_seed_gives_the_same_audit_streamed_or_not(small, tmp_path):
    np.save(tmp_path / "probs.npy", small.probs)
    streamed = replace(small.evidence, probs=np.load(tmp_path / "probs.npy", mmap_mode="r"))
    first, second = examine(small.evidence, seed=5), examine(streamed, seed=5)
    pd.testing.assert_frame_equal(first.issues, second.issues, check_exact=True)
    pd.testing.assert_frame_equal(first.transition, second.transition, check_exact=True)
    assert first.noise_rate_interval == second.noise_rate_interval


def test_rows_beyond_those_that_are_learnt_from_are_judged_alike(world, audited, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 3000)
    part = examine(world.evidence)
    assert part.noise_rate == pytest.approx(audited.noise_rate, abs=0.03)
    assert np.corrcoef(part.issues.wrong_probability, audited.issues.wrong_probability)[0, 1] > 0.97


def test_further_evidence_finds_more(worlds, channels):
    world = worlds(3000, channels["symmetric"](5, 0.2), 1.5)
    rng = np.random.default_rng(0)
    more = rng.permuted(world.probs, axis=1)
    np.put_along_axis(more, world.true[:, None], more.max(1, keepdims=True) + 0.3, 1)
    more /= more.sum(1, keepdims=True)
    margins = (np.where(world.wrong, -1, 1) + 0.5 * rng.normal(size=3000)).astype(np.float32)
    plain = average_precision_score(world.wrong, examine(world.evidence).issues.wrong_probability)
    for further in ({"others": (more,)}, {"neighbours": more}, {"margins": margins}):
        audit = examine(replace(world.evidence, **further))
        assert average_precision_score(world.wrong, audit.issues.wrong_probability) > plain + 0.05
        assert {"others": "agreement", "neighbours": "neighbours", "margins": "training_margin"}[
            next(iter(further))
        ] in audit.issues


def test_rows_without_a_label_get_a_suggestion_and_count_nowhere(small):
    given = small.given.copy()
    given[:50] = -1
    audit = examine(replace(small.evidence, given=given))
    assert audit.issues.wrong_probability[:50].isna().all()
    assert audit.issues.given[:50].isna().all()
    names = np.array(small.evidence.classes)
    assert audit.issues.suggested[:50].tolist() == names[small.probs[:50].argmax(1)].tolist()
    assert audit.per_class.rows.sum() == 250
    assert any("50 rows have no label" in note for note in audit.notes)


def uniform(rows, classes):
    return np.full((rows, classes), 1 / classes, np.float32)


@pytest.mark.parametrize(
    ("given", "probs"),
    [
        ([0, 1, 2, 0, 1], np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1]]),
        ([0, 1, 2, 0, 1], np.eye(3, dtype=np.float32)[[1, 2, 0, 1, 2]]),
        ([0, 0, 0, 0, 0], uniform(5, 3)),
        ([0], uniform(1, 3)),
        ([0, 1, 0], uniform(3, 50)),
        ([0] * 150 + [1] * 150, np.eye(3, dtype=np.float32)[[0] * 300]),
        ([2] * 300, np.eye(3, dtype=np.float32)[[1] * 300]),
    ],
    ids=[
        "sure",
        "sure of others",
        "one class given",
        "one row",
        "more classes than rows",
        "never predicted",
        "never right",
    ],
)
def test_strange_evidence_has_a_finite_result(given, probs):
    names = tuple(f"class {k}" for k in range(probs.shape[1]))
    audit = examine(Evidence(np.array(given), probs, names))
    assert np.isfinite(audit.issues.wrong_probability).all()
    assert 0 <= audit.noise_rate_interval[0] <= audit.noise_rate <= audit.noise_rate_interval[1] <= 1
    np.testing.assert_allclose(audit.transition.sum(axis=1), 1)


@pytest.fixture(scope="module")
def unlearnt(worlds, channels):
    """Of a sixth of all rows, whose labels are as right as the others, the model never says the class."""
    world = worlds(3000, channels["symmetric"](6, 0.1), 6)
    probs = world.probs.copy()
    probs[:, 5] = 1e-7
    probs /= probs.sum(1, keepdims=True)
    return world, examine(replace(world.evidence, probs=probs))


def test_labels_of_a_class_that_is_not_learnt_are_left_alone(unlearnt):
    world, audit = unlearnt
    own = audit.issues[world.given == 5]
    assert (own.wrong_probability < 0.5).all()
    assert (own.suggested == "class 5").all()
    assert own.reason.str.startswith("the model has not learnt this class").all()
    assert any("has not learnt class 5" in note for note in audit.notes)
    assert audit.per_class.index[~audit.per_class.learnt].tolist() == ["class 5"]


def test_the_interval_holds_labels_that_cannot_be_judged_as_right_and_as_wrong(unlearnt):
    world, audit = unlearnt
    share = (world.given == 5).mean()
    low, high = audit.noise_rate_interval
    assert low <= world.wrong.mean() <= high
    assert high - low >= share
    assert audit.issues.wrong_probability.mean() == pytest.approx(audit.noise_rate, abs=1e-6)
    assert audit.per_class.wrong.sum() == pytest.approx(audit.noise_rate * len(world.given), rel=1e-5)
    below, above = audit.transition_interval
    assert (below <= audit.transition + 1e-12).all(axis=None)
    assert (above >= audit.transition - 1e-12).all(axis=None)
    assert below.loc["class 5", "class 5"] == 0


def test_labels_of_a_class_that_is_not_learnt_stand_between_wrong_and_right_ones_by_self_confidence(unlearnt):
    world, audit = unlearnt
    own, rest = audit.issues[world.given == 5], audit.issues[(world.given != 5) & ~world.wrong]
    assert own.wrong_probability.to_numpy() == pytest.approx((1 - own.self_confidence.to_numpy()) / 2)
    assert own.wrong_probability.median() > rest.wrong_probability.quantile(0.9)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_model_that_says_one_class_only_ranks_rows_as_its_self_confidence_does(noise):
    rng = np.random.default_rng(0)
    true = rng.random(2000) < 0.1
    given = (true ^ (rng.random(2000) < noise)).astype(int)
    second = 0.5 / (1 + np.exp(2 - 4 * true - rng.normal(size=2000)))
    audit = examine(Evidence(given, np.column_stack([1 - second, second]).astype(np.float32), ("a", "b")))
    order = audit.issues.wrong_probability.rank().to_numpy()
    assert order.tolist() == (-audit.issues.self_confidence).rank().tolist()
    assert (audit.issues.suggested == audit.issues.given).all()
    assert audit.per_class.wrong.sum() == pytest.approx(audit.noise_rate * 2000)


@pytest.mark.parametrize("rows", [1, 4, 5])
def test_a_few_rows_of_a_class_that_is_never_predicted_are_not_condemned(rows):
    given = np.repeat([0, 1, 2], [100, 100, rows])
    probs = np.eye(3)[np.where(given == 2, 0, given)] * 0.9 + 0.1 / 3
    audit = examine(Evidence(given, probs.astype(np.float32), NAMES))
    assert (audit.issues.wrong_probability <= 0.5).all()
    assert any(f"has not learnt c, so that {rows} label" in note for note in audit.notes)


def test_a_hundred_classes_of_three_rows_are_judged():
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(100), 3)
    given = np.where(rng.random(300) < 0.2, rng.integers(100, size=300), true)
    probs = np.eye(100)[true] * rng.uniform(0.5, 0.99, 300)[:, None]
    probs += (1 - probs.sum(1, keepdims=True)) / 100
    audit = examine(Evidence(given, probs.astype(np.float32), tuple(map(str, range(100)))))
    assert audit.noise_rate_interval[0] <= (given != true).mean() <= audit.noise_rate_interval[1]
    assert average_precision_score(given != true, audit.issues.wrong_probability) > 0.95


@pytest.mark.parametrize("kind", ["uniform", "random", "columns in another order", "one class always"])
def test_a_model_that_cannot_tell_classes_apart_condemns_no_label(kind):
    rng = np.random.default_rng(0)
    given = rng.choice(3, size=2000, p=[0.8, 0.15, 0.05])
    sure = np.eye(3)[given] * 0.8 + 0.2 / 3
    probs = {
        "uniform": uniform(2000, 3),
        "random": rng.dirichlet(np.ones(3), size=2000),
        "columns in another order": np.roll(sure, 1, axis=1),
        "one class always": np.tile([0.99, 0.008, 0.002], (2000, 1)),
    }[kind].astype(np.float32)
    audit = examine(Evidence(given, probs, NAMES))
    assert (audit.issues.wrong_probability < 0.5).all()
    assert (audit.issues.suggested == audit.issues.given).all()
    assert audit.noise_rate_interval == (0, 1)
    assert audit.issues.wrong_probability.mean() == pytest.approx(audit.noise_rate)
    assert any("cannot tell the classes apart" in note for note in audit.notes)


def test_one_sentence_where_no_audit_can_be_made():
    with pytest.raises(InputError, match="row 1 of probs"):
        examine(Evidence(np.array([0, 1]), np.array([[0.5, 0.5], [np.nan, 0.5]], np.float32), ("a", "b")))
