import numpy as np

from labelnoise.auditing.evidence import Evidence
from labelnoise.auditing.posterior import Channel
from labelnoise.auditing.reasons import NOT_LEARNT, NOTHING, UNLABELLED, reasons
from labelnoise.auditing.scores import score

T = np.array([[0.7, 0.3, 0, 0], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]])
PROBS = np.array([[0.9, 0.06, 0.04, 0], [0.1, 0.8, 0.1, 0], [0.2, 0.2, 0.6, 0], [0.02, 0.9, 0.08, 0]], np.float32)
GIVEN = np.array([1, 1, -1, 1])


def said(meant=(0, 0, 2, 2), learnt=(True, True, True, True), **further):
    evidence = Evidence(GIVEN, PROBS, ("cat", "dog", "owl", "fox"), **further)
    channel = Channel(T, np.ones(4), np.zeros(4))
    found = score((PROBS,), GIVEN)
    return reasons(
        evidence, found, channel, np.array([0.95, 0.01, np.nan, 0.02]), np.array(meant), learnt=np.array(learnt)
    )


def test_a_suspicious_row_is_explained_and_others_are_not():
    first, second, third, _ = said()
    assert first.startswith("the model says cat (90 %), not dog (6 %); cat is often labelled dog")
    assert (second, third) == (NOTHING, UNLABELLED)


def test_further_evidence_is_named():
    neighbours = np.tile(np.float32([0.7, 0.2, 0.1, 0]), (4, 1))
    first = said(neighbours=neighbours, margins=np.float32([-1, 1, 1, 1]))[0]
    assert "70 % of its neighbours are cat" in first
    assert "in training the label was against what the model learnt" in first


def test_the_class_that_is_suggested_is_the_one_that_is_named():
    first = said(meant=(2, 0, 2, 2))[0]
    assert first == "the model says dog (6 %) or owl (4 %)"


def test_labels_of_a_class_that_is_not_learnt_are_said_to_be_beyond_judgement():
    assert said(learnt=(True, False, True, True)).tolist() == [NOT_LEARNT, NOT_LEARNT, UNLABELLED, NOT_LEARNT]
