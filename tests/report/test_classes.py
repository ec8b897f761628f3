from statistics import mean, stdev

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score

from labelnoise.report.classes import by_class, class_counts
from labelnoise.report.summary import summarise

NAMES = ("no", "yes", "never")
COUNTS = {  # method -> label by prediction of each seed
    "ce": [[[90, 0, 0], [6, 4, 0], [0, 0, 0]], [[80, 10, 0], [2, 8, 0], [0, 0, 0]]],
    "gce": [[[90, 0, 0], [10, 0, 0], [0, 0, 0]], [[90, 0, 0], [10, 0, 0], [0, 0, 0]]],
}


def named(method):
    return {"name": method, "settings": {}}


@pytest.fixture
def counted(fabricate, recount):
    """The summary of a folder with these counts."""

    def make(counts, names, best="ce"):
        seeds = len(next(iter(counts.values())))
        histories = {
            (method, seed): [{"test/accuracy_true": 0.5, "validation/score": 0.9 if method == best else 0.1}]
            for method in counts
            for seed in range(seeds)
        }
        store = fabricate([named(each) for each in counts], seeds=seeds, histories=histories, classes=names)
        return summarise(recount(store, counts))

    return make


def percent(values):
    return f"{100 * mean(values):.1f} ± {100 * stdev(values):.1f}"


def rows_of(counts):
    """Labels and predictions of which these are the counts."""
    each = [(i, j) for i, line in enumerate(counts) for j, number in enumerate(line) for _ in range(number)]
    return np.array(each).T


def test_every_class_has_its_rows_and_the_share_that_each_method_finds(counted):
    found = by_class((summary := counted(COUNTS, NAMES)).best, summary.rows, NAMES)
    assert found["methods"] == ["ce", "gce"]
    assert found["classes"] == [
        ("no", "90", [percent([1, 8 / 9]), "100.0 ± 0.0"]),
        ("yes", "10", [percent([0.4, 0.8]), "0.0 ± 0.0"]),
        ("never", "0", ["–", "–"]),
    ]


@pytest.mark.parametrize(
    ("name", "score"),
    [("balanced accuracy", balanced_accuracy_score), ("macro F1", lambda y, p: f1_score(y, p, average="macro"))],
)
def test_means_over_classes_are_those_of_scikit_learn(counted, name, score):
    found = by_class((summary := counted(COUNTS, NAMES)).best, summary.rows, NAMES)
    expected = [percent([score(*rows_of(each)) for each in runs]) for runs in COUNTS.values()]
    assert found["overall"][name] == expected


def test_a_class_that_one_seed_lacks_has_the_recall_of_the_others(counted):
    counts = {"ce": [[[9, 1], [0, 0]], [[10, 0], [1, 3]]]}
    found = by_class((summary := counted(counts, NAMES[:2])).best, summary.rows, NAMES[:2])
    assert found["classes"][1] == ("yes", "2", ["75.0"])


def test_of_many_classes_those_are_shown_that_the_best_method_finds_least(counted):
    hits = np.random.default_rng(0).permutation(30)
    names = tuple(f"thing {k}" for k in range(30))
    right, wrong = np.diag(hits), np.roll(np.diag(30 - hits), 1, axis=1)
    counts = {"gce": [(right.T + wrong).tolist()], "ce": [np.diag([30] * 30).tolist()]}
    summary = counted(counts, names, best="gce")
    found = by_class(summary.best, summary.rows, names)
    assert found["few"]
    assert [name for name, *_ in found["classes"]] == [f"thing {k}" for k in hits.argsort()[:20]]
    assert class_counts(names, summary.rows) == []


def test_of_many_classes_those_without_test_rows_are_not_found_least(counted):
    names = tuple(f"thing {k}" for k in range(30))
    counts = {"ce": [np.diag([0, 5, 0, 5, *[0] * 26]).tolist()]}
    found = by_class((summary := counted(counts, names)).best, summary.rows, names)
    assert [name for name, *_ in found["classes"]] == ["thing 1", "thing 3"]


def test_without_counts_of_the_best_method_there_is_no_table(counted, fabricate):
    summary = counted({"ce": COUNTS["ce"]}, NAMES)
    for path in summary.best.finished[0].pack.folder.glob("details.safetensors"):
        path.unlink()
    summary.best.finished[0].pack.__dict__.pop("measured")  # which it has read
    assert by_class(summary.best, summary.rows, NAMES) is None
    assert class_counts(NAMES, summary.rows) == []
    assert by_class(None, [], NAMES) is None


def test_classes_are_counted_in_the_first_run(counted):
    counts = {"ce": [[[9, 1], [0, 5]], [[7, 1], [1, 6]]]}
    assert class_counts(NAMES[:2], counted(counts, NAMES[:2]).rows) == [("no", 10), ("yes", 5)]
