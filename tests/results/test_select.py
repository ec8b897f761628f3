import pytest

from labelnoise.results.record import Record
from labelnoise.results.select import SELECTIONS, Last, NoisyValidation, Oracle, accuracy_on_test, last_ten


def history(*rows):
    """(stage, score on noisy validation, accuracy on test) per epoch."""
    return [
        Record("r", "forward", 0, stage, epoch, {"validation/score": score, "test/accuracy_true": accuracy})
        for epoch, (stage, score, accuracy) in enumerate(rows)
    ]


HISTORY = history(
    ("warm-up", 0.9, 0.95), ("train", 0.5, 0.6), ("train", 0.6, 0.7), ("train", 0.6, 0.8), ("train", 0.4, 0.75)
)


def test_last_is_the_latest_epoch():
    assert Last().pick(HISTORY).epoch == 4


def test_noisy_validation_takes_the_earliest_best_of_the_last_stage():
    assert NoisyValidation().pick(HISTORY).epoch == 2


def test_the_oracle_takes_the_best_on_test_of_the_last_stage():
    assert Oracle().pick(HISTORY).epoch == 3


def test_the_oracle_takes_the_earliest_of_equals():
    assert Oracle().pick(history(("train", 0.1, 0.5), ("train", 0.2, 0.7), ("train", 0.3, 0.7))).epoch == 1


@pytest.mark.parametrize(("epochs", "expected"), [(20, 15.5), (4, 2.5)])
def test_the_mean_of_the_last_ten_epochs_takes_what_there_are(epochs, expected):
    assert last_ten(history(*(("train", 0.1, epoch + 1) for epoch in range(epochs)))[::-1]) == expected


@pytest.mark.parametrize("rule", SELECTIONS, ids=lambda rule: rule.name)
def test_the_order_of_records_does_not_matter(rule):
    assert rule.pick(HISTORY[::-1]) == rule.pick(HISTORY)


def test_a_single_epoch_speaks_for_all_rules():
    assert {rule.pick(HISTORY[:1]).epoch for rule in SELECTIONS} == {0}


def test_the_rules_have_their_names_in_this_order():
    assert [rule.name for rule in SELECTIONS] == ["last", "selected", "oracle"]


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ({"test/accuracy_true": 0.9, "test/accuracy_given": 0.5}, 0.9),
        ({"test/accuracy_given": 0.5}, 0.5),
    ],
)
def test_accuracy_on_test_is_against_true_labels_where_they_are_known(measures, expected):
    assert accuracy_on_test(Record("r", "ce", 0, "train", 0, measures)) == expected
