import csv
from dataclasses import replace

import numpy as np
import pandas as pd

from labelnoise.reviewing.review import FEWEST, LEAST, MOST, identity, labelled, suspicious, write_issues, write_review


def read(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def probabilities(audit, values):
    issues = audit.issues.iloc[np.arange(len(values)) % len(audit.issues)]
    issues = issues.set_axis(map(str, range(len(values)))).assign(wrong_probability=values)
    return replace(audit, issues=issues)


def test_suspicious_rows_come_in_order_of_suspicion(people, audit_of):
    audit = audit_of(people.dataset, wrong=["7", "3"])
    assert list(suspicious(audit).index[:2]) == ["7", "3"]
    assert suspicious(audit)["wrong_probability"].is_monotonic_decreasing


def test_there_are_as_many_as_are_worth_a_look_within_bounds(people, audit_of):
    audit = audit_of(people.dataset)
    for worth in (0, FEWEST + 9, MOST + 9):
        values = np.where(np.arange(MOST + 100) < worth, LEAST, LEAST / 2)
        assert len(suspicious(probabilities(audit, values))) == min(max(worth, FEWEST), MOST)


def test_more_may_be_asked_for_than_are_shown_by_default(people, audit_of):
    audit = probabilities(audit_of(people.dataset), np.full(MOST + 100, LEAST))
    assert len(suspicious(audit, MOST + 50)) == MOST + 50


def test_rows_without_a_label_are_not_for_review(people, audit_of):
    audit = audit_of(people.dataset, wrong=["3"])
    unlabelled = pd.DataFrame({"given": [None, ""], "wrong_probability": 1.0}, index=["a", "b"])
    more = replace(audit, issues=pd.concat([audit.issues, unlabelled]))
    assert list(labelled(more).index) == list(audit.issues.index)
    assert list(suspicious(more).index) == list(suspicious(audit).index)


def test_all_rows_are_written_with_all_columns(people, audit_of, tmp_path):
    audit = audit_of(people.dataset, wrong=["3"])
    write_issues(audit, "name", tmp_path / "issues.csv")
    rows = read(tmp_path / "issues.csv")
    assert [row["id"] for row in rows] == list(people.dataset.ids)
    assert list(rows[0]) == ["id", *audit.issues.columns, "audit"]
    assert float(rows[3]["wrong_probability"]) == 0.99
    assert {row["audit"] for row in rows} == {"name"}


def test_what_is_not_known_is_an_empty_cell(people, audit_of, tmp_path):
    audit = audit_of(people.dataset)
    issues = audit.issues.assign(suggested=None, margin=float("nan"))
    write_issues(replace(audit, issues=issues), "name", tmp_path / "issues.csv")
    assert {(row["suggested"], row["margin"]) for row in read(tmp_path / "issues.csv")} == {("", "")}


def test_rows_for_review_have_room_for_decisions(people, audit_of, tmp_path):
    audit = audit_of(people.dataset, wrong=["7", "3"])
    write_review(audit, "name", tmp_path / "review.csv")
    rows = read(tmp_path / "review.csv")
    assert [row["id"] for row in rows[:2]] == ["7", "3"]
    assert {(row["corrected"], row["decision"]) for row in rows} == {("", "")}


def test_the_name_of_an_audit_changes_with_data_and_findings(people, photos, audit_of):
    first, second = audit_of(people.dataset, wrong=["3"]), audit_of(people.dataset, wrong=["4"])
    names = {identity(first, people.dataset), identity(second, people.dataset), identity(first, photos.dataset)}
    assert len(names) == 3
    assert identity(first, people.dataset) == identity(audit_of(people.dataset, wrong=["3"]), people.dataset)
    assert identity(first, people.dataset).startswith(people.dataset.fingerprint)
