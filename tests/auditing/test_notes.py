import numpy as np
import pytest

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.notes import notes
from labelnoise.auditing.scores import score

GIVEN = np.tile([0, 1, 1], 50)
PROBS = np.tile(np.float32([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), (50, 1))


def noted(*, given=GIVEN, probs=PROBS, classes=("cat", "dog"), learnt=(True, True), rate=0.3, own=True):
    rows = np.bincount(given[given >= 0], minlength=len(classes))
    return notes(Evidence(given, probs, classes, own=own), score((probs,), given), rows, np.array(learnt), rate)


def test_nothing_is_said_of_good_evidence():
    assert noted() == ()


def test_few_rows_and_rows_without_a_label_are_named():
    given = np.where(np.arange(150) < 60, -1, GIVEN)
    assert [note.split()[0] for note in noted(given=given)] == ["90", "60"]


def test_classes_that_are_not_learnt_are_named():
    (note,) = noted(learnt=(True, False))
    assert note.startswith("the model has not learnt dog, so that 100 labels cannot be judged")


def test_a_model_that_has_learnt_nothing_is_named():
    (note,) = noted(learnt=(False, False))
    assert note.startswith("the model cannot tell the classes apart")


def test_a_model_that_agrees_with_the_few_labels_there_are_is_not_said_to_confuse_them():
    few, agrees = noted(given=PROBS.argmax(1)[:6], probs=PROBS[:6], learnt=(False, False))
    assert few.startswith("6 labelled rows are few")
    assert agrees.startswith("the model agrees with every label")


@pytest.mark.parametrize("own", [True, False])
def test_nothing_is_said_of_probabilities_of_one_s_own_where_there_are_none(own):
    for evidence in ({"learnt": (False, False)}, {"given": PROBS.argmax(1)}):
        (note,) = noted(**evidence, own=own)
        assert ("probabilities" in note) is own


@pytest.mark.parametrize(("times", "own", "told"), [(1, False, True), (1, True, False), (2, False, False)])
def test_networks_of_our_own_that_contradict_many_labels_after_few_rows_are_doubted(times, own, told):
    found = noted(given=np.tile(GIVEN, times), probs=np.tile(PROBS, (times, 1)), own=own)
    assert any("had 75 rows of a class to learn from, on average, contradict 33 % of" in each for each in found) is told


@pytest.mark.parametrize(("rows", "told"), [(1, "1 labelled row is few"), (2, "2 labelled rows are few")])
def test_a_single_row_is_one(rows, told):
    few, *_ = noted(given=GIVEN[:rows], probs=PROBS[:rows])
    assert few.startswith(told)


def test_a_single_row_without_a_label_is_one():
    one = noted(given=np.where(np.arange(150) < 1, -1, GIVEN))
    assert one == ("1 row has no label; a label is suggested, and it counts nowhere else",)


def test_probabilities_without_doubt_are_named():
    (note,) = noted(probs=np.round(PROBS))
    assert note.startswith("all probabilities are 0 or 1")


def test_a_model_that_agrees_with_every_label_is_named():
    (note,) = noted(given=PROBS.argmax(1))
    assert note.startswith("the model agrees with every label")


@pytest.mark.parametrize("rows", [150, 15_000])
@pytest.mark.parametrize("sure", [0.75, 0.95, 0.99])
def test_a_model_that_is_surer_than_wrong_labels_explain_is_named(rows, sure):
    given, best = np.tile([0, 0, 1, 1], rows)[:rows], np.tile([0, 1], rows)[:rows]  # half of the labels agree
    probs = np.where(np.arange(2) == best[:, None], sure, 1 - sure).astype(np.float32)
    surer = [note for note in noted(given=given, probs=probs, rate=0.35) if "it is overconfident" in note]
    assert len(surer) == (sure == 0.99 or (sure == 0.95 and rows == 15_000))
    assert not any(
        "it is overconfident" in note for note in noted(given=given, probs=probs, learnt=(False, False), rate=0.25)
    )
