from dataclasses import replace

import pandas as pd
import pytest

from labelnoise.errors import InputError
from labelnoise.reviewing.corrections import by_audit, condemned, read_decisions
from labelnoise.reviewing.outcome import outcome
from labelnoise.reviewing.review import identity, write_issues, write_review

HEAD = "id,given,suggested,corrected,decision,audit\n"


@pytest.fixture
def decided(people, tmp_path):
    """A function that reads a file of these lines about the table of people; AUDIT stands for the right audit."""

    def read(*lines, head=HEAD):
        path = tmp_path / "corrections.csv"
        path.write_text(
            head + "".join(f"{line}\n" for line in lines).replace("AUDIT", people.dataset.fingerprint + "-01234567")
        )
        return read_decisions([path], people.dataset)

    return read


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("3,tall,short,short,accept,AUDIT", {3: 0}),
        ("3,tall,short,,accept,AUDIT", {3: 0}),
        ("3,tall,short,tall,reject,AUDIT", {3: 1}),
        ("3,tall,short,,reject,AUDIT", {3: 1}),
        ("3,tall,short,short,other,AUDIT", {3: 0}),
        ("3,tall,short, short ,,AUDIT", {3: 0}),
        ("3,tall,short,tall,,AUDIT", {3: 1}),
        ("3,tall,short,,,AUDIT", {}),
        ("3,tall,short,,  Accept ,AUDIT", {3: 0}),
        ("unlabelled,,short,,,AUDIT", {}),
    ],
)
def test_a_line_says_what_its_columns_say(decided, line, found):
    assert decided(line).corrected == found


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("99,tall,short,short,accept,AUDIT", "line 2: there is no row with id '99'"),
        ("3,tall,short,shart,other,AUDIT", "line 2: there is no class 'shart'; did you mean 'short'"),
        ("3,tal,short,short,accept,AUDIT", "line 2: there is no class 'tal'"),
        ("3,short,tall,tall,accept,AUDIT", "line 2: row '3' has label 'tall', not 'short'"),
        ("3,tall,short,short,accept,0123456789abcdef-1", "line 2: decided about other data"),
        ("3,tall,short,short,accept,", "line 2: the column 'audit' is empty or cut off"),
        ("x,,short,short,other,AUDIT", "line 2: row 'x' has no label to correct"),
        ("3,tall,short,short,maybe,AUDIT", "line 2: 'maybe' is no decision"),
        ("3,tall,short,,other,AUDIT", "line 2: the decision is other, but no class is corrected"),
        ("3,tall,short,short,reject,AUDIT", "line 2: the decision is reject, but corrected is 'short'"),
        ("3,tall,short,tall,accept,AUDIT", "line 2: the decision is accept, but corrected is 'tall'"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(decided, line, sentence):
    with pytest.raises(InputError, match=sentence) as problem:
        decided(line)
    assert "\n" not in str(problem.value)


def test_a_file_that_a_spreadsheet_saved_in_another_encoding_is_told(people, tmp_path):
    line = f"3,tall,caf\xe9,other,{people.dataset.fingerprint}-01234567\n"
    (tmp_path / "c.csv").write_bytes(("id,given,corrected,decision,audit\n" + line).encode("latin-1"))
    with pytest.raises(InputError, match=r"line 2: there is no class .*save it as CSV UTF-8"):
        read_decisions([tmp_path / "c.csv"], people.dataset)


def test_the_same_row_may_not_be_decided_in_two_ways(decided):
    assert decided("3,tall,short,,accept,AUDIT", "3,tall,short,short,,AUDIT").corrected == {3: 0}
    with pytest.raises(InputError, match="line 3: row '3' is decided twice"):
        decided("3,tall,short,,accept,AUDIT", "3,tall,short,,reject,AUDIT")


@pytest.mark.parametrize("end", range(1, 25))
def test_a_line_whose_audit_is_cut_off_is_refused(decided, people, end):
    whole = f"{people.dataset.fingerprint}-01234567"
    with pytest.raises(InputError, match="line 3: the column 'audit' is empty or cut off; export the file again"):
        decided("3,tall,short,,accept,AUDIT", f"5,tall,short,,accept,{whole[:-end]}")


@pytest.mark.parametrize("left", [1, 2])
def test_a_file_that_is_cut_off_between_lines_is_refused(decided, left):
    lines = [f"{row},tall,short,accept,3,AUDIT" for row in (3, 5, 7)]
    head = "id,given,corrected,decision,lines,audit\n"
    assert len(decided(*lines, head=head).corrected) == 3
    with pytest.raises(InputError, match=rf"is cut off: it has {left} of the 3 lines .* empty its column 'lines'"):
        decided(*lines[:left], head=head)
    assert len(decided(*(line.replace(",3,AUDIT", ",,AUDIT") for line in lines[:left]), head=head).corrected) == left


@pytest.mark.parametrize("head", ["", "id,gi", HEAD])
def test_a_file_without_a_line_is_refused(decided, head):
    with pytest.raises(InputError, match=r"corrections\.csv is empty or cut off"):
        decided(head=head)


@pytest.mark.parametrize("lacking", ["id", "given", "audit"])
def test_a_file_without_a_needed_column_is_refused(decided, lacking):
    with pytest.raises(InputError, match=f"has no column '{lacking}'"):
        decided("1,2,3,4,5,6", head=HEAD.replace(lacking, "x"))


@pytest.mark.parametrize(("text", "value"), [("0.25", 0.25), ('"0,25"', 0.25), ("2", None), ("x", None)])
def test_probabilities_are_read_as_spreadsheets_write_them(decided, text, value):
    line, head = f"3,tall,{text},AUDIT", "id,given,wrong_probability,audit\n"
    if value is None:
        with pytest.raises(InputError, match="none between 0 and 1"):
            decided(line, head=head)
    else:
        assert decided(line, head=head).wrong == {3: value}


def test_the_tables_of_an_audit_decide_nothing_until_edited(people, audit_of, tmp_path):
    audit = audit_of(people.dataset, wrong=["3", "4"])
    name = identity(audit, people.dataset)
    write_review(audit, name, tmp_path / "review.csv")
    write_issues(audit, name, tmp_path / "issues.csv")
    found = read_decisions([tmp_path / "review.csv", tmp_path / "issues.csv"], people.dataset)
    assert found.corrected == {}
    assert found.wrong == {row: pytest.approx(p, rel=1e-5) for row, p in enumerate(audit.issues["wrong_probability"])}


def test_an_audit_alone_corrects_what_is_more_likely_wrong_than_right(people, audit_of):
    audit = audit_of(people.dataset, wrong=["3", "4"])
    assert by_audit(audit, people.dataset).corrected == {3: 0, 4: 1}


def test_an_audit_that_does_not_know_how_many_labels_are_wrong_decides_nothing(people, audit_of):
    audit = replace(audit_of(people.dataset, wrong=["3", "4"]), noise_rate_interval=(0.0, 0.7))
    found = by_audit(audit, people.dataset)
    assert found.corrected == {}
    assert outcome(people.dataset, found, "drop").kept.all()


def test_rows_that_have_no_label_are_not_decided(people, audit_of):
    audit = audit_of(people.dataset, wrong=["3", "4"])
    unlabelled = audit.issues.iloc[:1].set_axis(["unlabelled"]).assign(given=None, wrong_probability=0.99)
    more = replace(audit, issues=pd.concat([unlabelled, audit.issues]))
    assert by_audit(more, people.dataset) == by_audit(audit, people.dataset)


def test_an_audit_alone_never_ends_a_class(people, audit_of):
    tall = [name for name, label in zip(people.dataset.ids, people.dataset.y_given, strict=True) if label == 1]
    audit = audit_of(people.dataset, wrong=[*tall, "4"])
    assert condemned(audit, people.dataset) == ["tall"]
    rows = range(1, 40, 2)
    assert by_audit(audit, people.dataset).corrected == {4: 1} | dict.fromkeys(rows, 1)
    assert (outcome(people.dataset, by_audit(audit, people.dataset), "weight").weights[rows] == 1).all()
    assert condemned(audit_of(people.dataset, wrong=tall[1:]), people.dataset) == []
