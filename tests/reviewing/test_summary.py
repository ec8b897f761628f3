from dataclasses import replace

from labelnoise.reviewing.summary import lines


def test_rate_interval_classes_and_rows_are_told(people, audit_of):
    told = list(lines(audit_of(people.dataset, wrong=["7", "9"])))
    text = "\n".join(told)
    assert told[0] == "About 10.0 % of the labels are wrong (between 8.0 and 12.0 %), that is about 4 of 40 rows."
    assert "folds are made of 5 parts" in told
    assert text.index("tall") < text.index("short")  # the worst class first
    assert [line.split()[:3] for line in told if line.startswith(("7 ", "9 "))] == [
        ["7", "tall", "short"],
        ["9", "tall", "short"],
    ]


def test_classes_that_are_not_learnt_come_last_without_a_share(people, audit_of):
    audit = audit_of(people.dataset, wrong=["7", "9"])
    unlearnt = audit.per_class.assign(learnt=audit.per_class.index != "tall")
    told = [line.split() for line in lines(replace(audit, per_class=unlearnt))]
    after = told.index(["class", "rows", "wrong"])
    assert told[after + 1][:2] == ["short", "20"]
    assert told[after + 2] == ["tall", "20", "–"]


def test_rates_that_may_be_anything_are_not_told(people, audit_of):
    unknown = replace(audit_of(people.dataset, wrong=["7"]), noise_rate_interval=(0.0, 1.0))
    first, *rest = lines(unknown)
    told = "What share of the 40 labels is wrong is not known (between 0.0 and 100.0 %)"
    assert first == f"{told}, so that the audit alone drops and changes none."
    assert not any(line.startswith("class ") for line in rest)


def test_at_most_ten_rows_are_told(people, audit_of):
    told = list(lines(audit_of(people.dataset, wrong=[str(n) for n in range(20)])))
    assert len(told) - told.index("", 3) - 2 == 10


def test_rows_that_are_hardly_suspicious_are_not_told(people, audit_of):
    told = list(lines(audit_of(people.dataset, wrong=["7"])))
    assert [line.split()[0] for line in told[told.index("", 3) + 1 :]] == ["row", "7"]
    assert list(lines(audit_of(people.dataset)))[-1] == "no label is wrong with a probability of 10 % or more"


def test_names_cannot_move_the_cursor(people, audit_of):
    audit = audit_of(people.dataset, wrong=["7"])
    audit.issues["alternative"] = "\x1b[2J\r\n" + "x" * 99
    assert all(line.isprintable() and len(line) < 250 for line in lines(audit))


def test_the_reason_is_not_cut_for_nothing_follows_it(people, audit_of):
    reason = "the model says a class with a rather long name (100 %), not tall (0 %)"
    told = lines(audit_of(people.dataset, wrong=["7"], reasons=(reason, reason + "; more")))
    assert any(line.startswith("7 ") and line.endswith(reason) for line in told)
