import pytest

from labelnoise.reviewing.kinds import MOST_NAMES, kinds, parts


def test_names_and_numbers_are_left_out():
    reason = "the model says big dog (95 %), not cat (3 %); big dog is often labelled cat"
    assert kinds([reason], ["cat", "dog", "big dog"]) == [["the model says … (…), not … (…)", "… is often labelled …"]]


def test_rows_of_one_kind_have_the_same_kind():
    first, second = kinds(
        ["the model says 8 (95 %), not 3 (2 %)", "the model says 7 (80 %), not 1 (4.5 %)"], list("0123456789")
    )
    assert first == second == ["the model says … (…), not … (…)"]


def test_names_are_found_as_whole_words_and_whatever_signs_they_have():
    assert kinds(["at it: a(+)"], ["a(+)", "t"]) == [["at it: …"]]
    assert kinds(["a model"], ["a", ""]) == [["… model"]]


def test_of_very_many_classes_names_stay():
    names = [f"c{number}" for number in range(MOST_NAMES + 1)]
    assert kinds(["c1 is often labelled c2"], names) == [["c1 is often labelled c2"]]


@pytest.mark.parametrize("further", [0, MOST_NAMES])
def test_names_that_hold_semicolons_stay_whole(further):
    names = ["x; y", "y", *(f"c{number}" for number in range(further))]
    reason = "the model says x; y (95 %), not y (3 %); x; y is often labelled y"
    assert parts([reason], names) == [["the model says x; y (95 %), not y (3 %)", "x; y is often labelled y"]]


def test_a_kind_is_made_of_whole_names():
    assert kinds(["x; y is often labelled y; it is"], ["x; y", "y"]) == [["… is often labelled …", "it is"]]
