import numpy as np
import pytest

from labelnoise.errors import InputError
from labelnoise.reviewing.corrections import Decisions
from labelnoise.reviewing.outcome import changes, outcome

SURE = dict.fromkeys(range(40), 0.0)
DECIDED = Decisions({0: 1, 1: 1, 2: 0}, SURE | {0: 0.9, 1: 0.8, 3: 0.25})  # rows 0 and 2 are short, 1 and 3 tall


def test_dropping_leaves_out_what_was_decided_to_be_wrong(people):
    done = outcome(people.dataset, DECIDED, "drop")
    assert np.flatnonzero(~done.kept).tolist() == [0]
    assert done.labels.tolist() == people.dataset.y_given.tolist()
    assert changes(people.dataset, done, "drop", 2) == "2 decisions: 1 of 40 rows dropped"


def test_relabelling_keeps_all_rows(people):
    done = outcome(people.dataset, DECIDED, "relabel")
    assert done.kept.all()
    assert np.flatnonzero(done.labels != people.dataset.y_given.numpy()).tolist() == [0]
    assert changes(people.dataset, done, "relabel", 1) == "1 decision: 1 of 40 labels changed"


def test_weights_are_what_is_decided_and_else_what_is_likely(people):
    done = outcome(people.dataset, DECIDED, "weight")
    assert done.weights[:5].tolist() == [0, 1, 1, 0.75, 1]
    assert done.kept.all()
    assert changes(people.dataset, done, "weight", 2) == "2 decisions: weights sum to 38.8, of 40 rows"


@pytest.mark.parametrize(("wrong", "unknown"), [({}, 39), ({1: 0.5, 4: 0.25}, 37)])
def test_weights_without_the_probabilities_of_all_rows_are_refused(people, wrong, unknown):
    with pytest.raises(InputError, match=rf"{unknown} of 40 have none .*; apply issues\.csv of the audit as well"):
        outcome(people.dataset, Decisions({0: 1}, wrong), "weight")


def test_rows_that_are_decided_need_no_probability(people):
    some = {row: SURE[row] for row in range(2, 40)}
    assert outcome(people.dataset, Decisions({0: 1, 1: 1}, some), "weight").weights[:3].tolist() == [0, 1, 1]


def test_nothing_changes_without_reading_the_labels_anew(people):
    before = people.dataset.y_given.clone()
    outcome(people.dataset, DECIDED, "relabel")
    assert before.equal(people.dataset.y_given)


def test_where_nothing_is_decided_nothing_is_said_to_have_changed(people):
    done = outcome(people.dataset, Decisions({}, {}), "drop")
    assert changes(people.dataset, done, "drop", 0) == "nothing is decided: 0 of 40 rows dropped"
