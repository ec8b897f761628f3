import csv
import html
import re
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

from labelnoise.auditing.per_class import class_table
from labelnoise.auditing.precision import precision_table
from labelnoise.auditing.result import Audit
from labelnoise.auditing.suspicion import NO_FLIPS
from labelnoise.cli import main
from labelnoise.data import read

FILES = {"audit.html", "issues.csv", "review.csv"}


def run(*args):
    return CliRunner().invoke(main, ["audit", *map(str, args)])


def suspecting(wrong):
    """In place of an audit that trains: it suspects rows by id, and suggests the next class."""

    def audit(data, *, settings, **options):
        dataset = read(data, settings)
        names = pd.Index(dataset.classes)
        given = dataset.y_given.numpy()
        issues = pd.DataFrame(
            {
                "given": names[given],
                "suggested": names[(given + 1) % len(names)],
                "wrong_probability": [0.9 if name in wrong else 0.01 for name in dataset.ids],
                "reason": "because",
                "alternative": names[(given + 1) % len(names)],
            },
            index=pd.Index(dataset.ids, name="id"),
        )
        audit.options = options
        T = pd.DataFrame(np.eye(len(names)), names, names)
        found = class_table(dataset.classes, np.bincount(given), np.zeros_like(T), np.ones(len(names), bool))
        table = precision_table(np.ones(len(issues)), np.ones(len(issues)), np.empty(0), 0.1, (0.05, 0.2))
        return Audit(issues, 0.1, (0.05, 0.2), T, (T, T), found, table, NO_FLIPS)

    return audit


@pytest.fixture
def suspects(monkeypatch):
    """A function that makes the command suspect these rows."""

    def choose(*wrong):
        audit = suspecting(wrong)
        monkeypatch.setitem(sys.modules, "labelnoise.auditing.run", SimpleNamespace(audit=audit))
        return audit

    return choose


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "survey.csv"
    rows = [f"p{n};{n};{'yes' if n % 2 else 'no'}" for n in range(20)]
    path.write_text("\n".join(["person;x;answer", *rows, ""]))
    return path


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place, name in enumerate(("ant", "bee", "cat")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(3):
            Image.new("L", (6, 6), 80 * place + number).save(tmp_path / "photos" / name / f"{place}{number}.png")
    return tmp_path / "photos"


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", x=np.random.default_rng(0).normal(size=(12, 3)), y=np.arange(12) % 3)
    return tmp_path / "a.npz"


COLUMNS = ("--label-column", "answer", "--id-column", "person")


def decide(decisions, path="audit/review.csv", out="edited.csv"):
    """Fill in a review as a spreadsheet would, with semicolons: decisions are pairs of decision and class by id."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        for row in rows:
            decision, corrected = decisions.get(row["id"], ("", ""))
            writer.writerow(row | {"decision": decision, "corrected": corrected})


def labels(source, **settings):
    from labelnoise.config import Data

    found = read(source, Data(**settings))
    return {name: found.classes[label] for name, label in zip(found.ids, found.y_given, strict=True)}


def test_an_audit_writes_its_files_and_tells_them(survey, suspects, tmp_path):
    suspects("p3", "p4")
    result = run(survey, *COLUMNS)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "audit").iterdir()} == FILES | {"cleaned.csv", ".audit.json"}
    assert "About 10.0 % of the labels are wrong (between 5.0 and 20.0 %)" in result.output
    assert "p3   yes    no         90 %   because" in result.output
    assert all(f"audit/{name}" in result.output for name in FILES)


def test_without_review_the_audit_alone_decides(survey, suspects):
    suspects("p3", "p4")
    run(survey, *COLUMNS, "--mode", "relabel", "--out", "here")
    before, after = (labels(path, label_column="answer", id_column="person") for path in (survey, "here/cleaned.csv"))
    assert {name for name in before if before[name] != after[name]} == {"p3", "p4"}


@pytest.mark.parametrize("mode", ["drop", "relabel"])
def test_without_review_no_class_ends(survey, suspects, mode):
    suspects(*(f"p{n}" for n in range(1, 20, 2)))
    result = run(survey, *COLUMNS, "--mode", mode)
    assert "Every label of class yes seems wrong" in result.output
    assert "Every label of class yes seems wrong" in (survey.parent / "audit" / "audit.html").read_text()
    assert (survey.parent / "audit" / "cleaned.csv").read_bytes() == survey.read_bytes()


def test_a_class_that_loses_most_of_its_rows_is_told_in_terminal_and_page(survey, suspects):
    suspects(*(f"p{n}" for n in range(3, 20, 2)))
    told = "The cleaned data keep few labels of class yes (1 of 10)"
    assert told in run(survey, *COLUMNS).output
    assert told in (survey.parent / "audit" / "audit.html").read_text()
    decide({f"p{n}": ("accept", "") for n in range(3, 20, 2)})
    assert told in run(survey, *COLUMNS, "--apply", "edited.csv").output


def test_options_reach_the_audit(survey, suspects, tmp_path):
    audit = suspects("p3")
    result = run(survey, *COLUMNS, "--folds", 3, "--seed", 7, "--epochs", 2, "--method", "ce", "--device", "cpu")
    assert result.exit_code == 0, result.output
    told = {name: audit.options[name] for name in ("folds", "seed", "epochs", "method", "device", "embeddings")}
    assert told == {"folds": 3, "seed": 7, "epochs": 2, "method": "ce", "device": "cpu", "embeddings": None}
    np.save(tmp_path / "p.npy", np.full((20, 2), 0.5, np.float32))
    run(survey, *COLUMNS, "--probs", "p.npy", "--force")
    assert audit.options["probs"].shape == (20, 2)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--probs", "--epochs", 3), "--epochs says how networks are trained, but with --probs none is; leave it out"),
        (("--probs", "--folds", 5), "--folds says how networks are trained, but with --probs none is; leave it out"),
        (("--embeddings", "--method", "gce"), "--method says how networks are trained, but with --embeddings"),
        (("--embeddings", "--others", "ce"), "--others says how networks are trained, but with --embeddings"),
        (("--apply", "--seed", 0), "--seed is for an audit, and --apply makes none; leave it out"),
        (("--apply", "--rows", 9), "--rows is for an audit, and --apply makes none; leave it out"),
    ],
)
def test_options_that_would_do_nothing_are_refused(survey, suspects, tmp_path, options, sentence):
    audit = suspects()
    np.save(tmp_path / "file", np.full((20, 2), 0.5, np.float32))
    what, *further = options
    result = run(survey, *COLUMNS, what, "file.npy", *further)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert sentence in result.output
    assert not hasattr(audit, "options")


def test_a_folder_for_images_of_a_folder_is_refused(photos, suspects):
    suspects()
    result = run("photos", "--images", "photos")
    assert (result.exit_code, "--images is for tables that list images, which photos is not" in result.output) == (
        2,
        True,
    )


def test_embeddings_alone_are_learnt_from_in_folds(survey, suspects, tmp_path):
    audit = suspects()
    np.save(tmp_path / "e.npy", np.full((20, 2), 0.5, np.float32))
    assert run(survey, *COLUMNS, "--embeddings", "e.npy", "--folds", 3).exit_code == 0
    assert audit.options["folds"] == 3


def test_the_classes_of_columns_can_be_told(survey, suspects, tmp_path):
    audit = suspects("p3")
    np.save(tmp_path / "p.npy", np.full((20, 2), 0.5, np.float32))
    options = (survey, *COLUMNS, "--probs", "p.npy", "--force")
    assert "taken to be no, yes" in run(*options).output
    assert audit.options["classes"] is None
    assert "taken to be" not in run(*options, "--classes", 'yes, "no"').output
    assert audit.options["classes"] == ("yes", "no")


def test_probabilities_are_read_in_the_order_that_is_told(survey, tmp_path):
    right = np.array([[0.02, 0.98] if n % 2 else [0.98, 0.02] for n in range(20)], np.float32)  # no, yes
    np.save(tmp_path / "p.npy", right[:, ::-1])
    rates = []
    for classes in ("yes,no", "no,yes"):
        run(survey, *COLUMNS, "--probs", "p.npy", "--classes", classes, "--out", classes)
        with open(f"{classes}/issues.csv", encoding="utf-8-sig", newline="") as file:
            rates.append(np.mean([float(row["self_confidence"]) for row in csv.DictReader(file)]))
    assert rates == pytest.approx([0.98, 0.02], abs=1e-4)


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ("yes,nu", "label 'no' is none of the classes yes, nu; name it"),
        ("yes", "--classes names 1; name each column"),
        ("yes,no,yes", "--classes names 3; name each column"),
        ("yes,yes", "two or more different classes must be named, not ['yes', 'yes']"),
    ],
)
def test_classes_that_are_not_those_of_the_data_are_told(survey, tmp_path, classes, sentence):
    np.save(tmp_path / "p.npy", np.full((20, 2), 0.5, np.float32))
    result = run(survey, *COLUMNS, "--probs", "p.npy", "--classes", classes)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert sentence in result.output


def test_a_class_that_no_row_has_may_be_named_suggested_and_applied(survey, tmp_path):
    probs = np.array([[0.1, 0.9, 0.0] if n % 2 else [0.9, 0.1, 0.0] for n in range(20)], np.float32)  # no, yes, maybe
    probs[3] = [0.01, 0.01, 0.98]
    np.save(tmp_path / "p.npy", probs)
    result = run(survey, *COLUMNS, "--probs", "p.npy")
    sentence = "p.npy (--probs) has 3 columns but the data have 2 classes; name that of each column with --classes"
    assert (result.exit_code, sentence in result.output) == (2, True)
    options = (survey, *COLUMNS, "--classes", "no,yes,maybe")
    result = run(*options, "--probs", "p.npy")
    assert result.exit_code == 0, result.output
    decide({"p3": ("accept", "")})
    result = run(*options, "--apply", "edited.csv", "--mode", "relabel", "--out", "c.csv")
    assert result.output == "1 decision: 1 of 20 labels changed\nc.csv\n"
    assert (tmp_path / "c.csv").read_text() == survey.read_text().replace("p3;3;yes", "p3;3;maybe")


@pytest.mark.parametrize("evidence", ["--probs", "--embeddings"])
def test_texts_are_judged_by_evidence_of_one_s_own_and_applied(tmp_path, monkeypatch, evidence):
    monkeypatch.chdir(tmp_path)
    rows = [f"@user{n} said =so ({n})!,{'yes' if n % 2 else 'no'}" for n in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", *rows, ""]))
    right = np.array([[0.1, 0.9] if n % 2 else [0.9, 0.1] for n in range(40)], np.float32)
    right[3] = right[3, ::-1]
    np.save(tmp_path / "e.npy", right)
    result = run("t.csv", evidence, "e.npy")
    assert result.exit_code == 0, result.output
    assert "inputs are made of" not in result.output
    decide({"3": ("accept", "")})
    result = run("t.csv", "--apply", "edited.csv", "--mode", "relabel", "--out", "c.csv")
    assert result.output == "1 decision: 1 of 40 labels changed\nc.csv\n"


def test_settings_without_an_option_are_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{n % 2},=A{n},{'yes' if n % 2 else 'no'}" for n in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["x,t,answer", *rows, ""]))
    result = run("t.csv", "--label-column", "answer")
    assert (result.exit_code, "leave the column out with data.drop=['t']" in result.output) == (2, True)
    result = run("t.csv", "--label-column", "answer", "data.drop=['t']", "--epochs", 1)
    assert result.exit_code == 0, result.output
    assert "inputs are made of 1 column: x" in result.output


@pytest.mark.parametrize(
    ("problem", "code", "sentence"),
    [
        (KeyboardInterrupt, 130, "stopped; an audit, and what is cleaned by it, is kept only once it is whole"),
        (MemoryError, 2, "memory is full; nothing was written: free some, then type the command again"),
    ],
)
def test_an_audit_that_is_stopped_promises_nothing(survey, monkeypatch, problem, code, sentence):
    def stop(*_, **__):
        raise problem

    monkeypatch.setitem(sys.modules, "labelnoise.auditing.run", SimpleNamespace(audit=stop))
    result = run(survey, *COLUMNS)
    assert result.exit_code == code
    assert result.output.strip().removeprefix("Error: ") == sentence
    assert [path.name for path in survey.parent.iterdir()] == ["survey.csv"]


def test_a_second_audit_replaces_nothing_without_leave(survey, suspects, tmp_path):
    suspects("p3")
    run(survey, *COLUMNS)
    before = (tmp_path / "audit" / "issues.csv").read_bytes()
    suspects("p4")
    result = run(survey, *COLUMNS)
    assert (result.exit_code, result.output) == (
        2,
        "Error: audit/audit.html exists; choose another --out, or --force to replace it\n",
    )
    assert (tmp_path / "audit" / "issues.csv").read_bytes() == before
    assert run(survey, *COLUMNS, "--force").exit_code == 0
    assert (tmp_path / "audit" / "issues.csv").read_bytes() != before


def test_quiet_tells_files_alone(survey, suspects):
    suspects()
    assert run(survey, *COLUMNS, "--quiet").output.splitlines() == [
        "audit/audit.html",
        "audit/issues.csv",
        "audit/review.csv",
        "audit/cleaned.csv",
    ]


def test_a_reviewed_table_is_applied_to_a_csv(survey, suspects):
    suspects("p3", "p4", "p5")
    run(survey, *COLUMNS)
    decide({"p3": ("accept", ""), "p4": ("", "yes"), "p5": ("reject", "")})
    result = run(survey, *COLUMNS, "--apply", "edited.csv", "--mode", "relabel", "--out", "c.csv")
    assert result.output == "3 decisions: 2 of 20 labels changed\nc.csv\n"
    expected = survey.read_text().replace("p3;3;yes", "p3;3;no").replace("p4;4;no", "p4;4;yes")
    assert (survey.parent / "c.csv").read_text() == expected
    result = run(survey, *COLUMNS, "--apply", "edited.csv", "--mode", "drop")
    assert result.output == "3 decisions: 2 of 20 rows dropped\ncleaned.csv\n"
    expected = survey.read_text().replace("p3;3;yes\n", "").replace("p4;4;no\n", "")
    assert (survey.parent / "cleaned.csv").read_text() == expected


def test_the_command_on_the_page_applies_decisions(survey, suspects, tmp_path):
    suspects("p3", "p4")
    run("survey.csv", *COLUMNS, "data.categorical=[x]", "--classes", 'no,yes,"not, yet"')
    decide({"p3": ("accept", "")}, out="corrections.csv")
    page = (tmp_path / "audit" / "audit.html").read_text()
    words = shlex.split(html.unescape(re.search(r"<code>labelnoise audit (.*?)</code>", page)[1]))
    assert run(*words, "--mode", "relabel").output == "1 decision: 1 of 20 labels changed\ncleaned.csv\n"


def test_where_nothing_is_decided_that_is_told(survey, suspects):
    suspects("p3")
    run(survey, *COLUMNS)
    result = run(survey, *COLUMNS, "--apply", "audit/review.csv", "--out", "c.csv")
    assert result.output == "nothing is decided: 0 of 20 rows dropped\nc.csv\n"


def test_quiet_tells_the_cleaned_file_alone(survey, suspects):
    suspects("p3")
    run(survey, *COLUMNS)
    assert run(survey, *COLUMNS, "--apply", "audit/review.csv", "--out", "c.csv", "--quiet").output == "c.csv\n"


def test_weights_take_decisions_and_else_probabilities(survey, suspects):
    suspects("p3", "p4", "p5")
    run(survey, *COLUMNS)
    decide({"p3": ("accept", ""), "p5": ("reject", "")})
    result = run(survey, *COLUMNS, "--apply", "edited.csv", "--apply", "audit/issues.csv", "--mode", "weight")
    assert result.exit_code == 0, result.output
    lines = (survey.parent / "cleaned.csv").read_text().splitlines()
    weights = ["label_weight", "0.99", "0.99", "0.99", "0", "0.1", "1", "0.99"]
    assert [line.split(";")[-1] for line in lines[:8]] == weights


def test_weights_of_rows_that_are_not_told_are_not_made_up(survey, suspects, tmp_path):
    suspects("p3")
    run(survey, *COLUMNS)
    lines = (tmp_path / "audit" / "review.csv").read_text().splitlines(keepends=True)
    (tmp_path / "some.csv").write_text("".join(lines[:6]))
    result = run(survey, *COLUMNS, "--apply", "some.csv", "--mode", "weight")
    assert (result.exit_code, "15 of 20 have none" in result.output) == (2, True)
    assert not (tmp_path / "cleaned.csv").exists()


def test_a_folder_is_reviewed_and_applied(photos, suspects, tmp_path):
    suspects("ant/00.png", "bee/11.png")
    result = run("photos")
    assert result.exit_code == 0, result.output
    assert len(labels("audit/cleaned")) == 7
    decide({"ant/00.png": ("other", "cat"), "bee/11.png": ("reject", "")})
    result = run("photos", "--apply", "edited.csv", "--mode", "relabel", "--out", "fixed")
    assert result.output == "2 decisions: 1 of 9 labels changed\nfixed\n"
    before = labels("photos")
    assert before.pop("ant/00.png") == "ant"
    assert labels("fixed") == before | {"cat/00.png": "cat"}
    assert len(list(photos.rglob("*.png"))) == 9
    result = run("photos", "--apply", "audit/issues.csv", "--mode", "weight", "--out", "list.csv")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "list.csv").read_text().splitlines()[1].endswith("ant/00.png,ant,0.1")


def test_arrays_are_reviewed_and_applied(arrays, suspects):
    suspects("4", "5")
    run("a.npz")
    decide({"4": ("accept", ""), "5": ("reject", "")})
    result = run("a.npz", "--apply", "edited.csv", "--mode", "relabel", "--out", "c.npz")
    assert result.output == "2 decisions: 1 of 12 labels changed\nc.npz\n"
    with np.load("c.npz") as after, np.load("a.npz") as before:
        assert np.flatnonzero(after["y"] != before["y"]).tolist() == [4]


def test_rows_whose_label_is_minus_one_have_none_and_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = np.array([0, 1] * 10)
    y[4] = -1
    np.savez("a.npz", x=np.eye(20), y=y)
    np.save("p.npy", np.where(np.arange(20)[:, None] % 2 == [0, 1], 0.9, 0.1).astype(np.float32))
    result = run("a.npz", "--probs", "p.npy")
    assert "the label -1 is taken for none (rows: 1)" in result.output
    decide({"5": ("accept", "")})
    result = run("a.npz", "--apply", "edited.csv", "--mode", "relabel", "--out", "c.npz")
    assert result.output == "1 decision: 1 of 19 labels changed\nc.npz\n"
    with np.load("c.npz") as after:
        assert after["y"][3:7].tolist() == [1, -1, 0, 0]


def test_decisions_about_other_data_are_refused(survey, arrays, suspects):
    suspects("p3")
    run(survey, *COLUMNS)
    result = run("a.npz", "--apply", "audit/review.csv")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "decided about other data" in result.output


def test_data_that_have_changed_since_are_refused(survey, suspects):
    suspects("p3")
    run(survey, *COLUMNS)
    survey.write_text(survey.read_text().replace("p7;7", "p7;8"))
    assert "decided about other data" in run(survey, *COLUMNS, "--apply", "audit/review.csv").output


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [(("other", "maybe"), "there is no class 'maybe'"), (("perhaps", ""), "'perhaps' is no decision")],
)
def test_what_was_filled_in_wrongly_is_told_in_a_sentence(survey, suspects, decision, sentence):
    suspects("p3")
    run(survey, *COLUMNS)
    decide({"p3": decision})
    result = run(survey, *COLUMNS, "--apply", "edited.csv")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert f"edited.csv, line 2: {sentence}" in result.output


def test_the_data_are_never_written_over(survey, suspects):
    suspects("p3")
    run(survey, *COLUMNS)
    before = survey.read_bytes()
    result = run(survey, *COLUMNS, "--apply", "audit/review.csv", "--out", survey, "--force")
    assert (result.exit_code, "is the data themselves" in result.output) == (2, True)
    assert survey.read_bytes() == before


@pytest.mark.parametrize("out", ["edited.csv", "audit/../edited.csv"])
def test_decisions_are_never_written_over(survey, suspects, tmp_path, out):
    suspects("p3")
    run(survey, *COLUMNS)
    decide({"p3": ("reject", "")})
    before = (tmp_path / "edited.csv").read_bytes()
    files = ("--apply", "audit/issues.csv", "--apply", "edited.csv")
    result = run(survey, *COLUMNS, *files, "--out", out, "--force")
    assert (result.exit_code, "holds the decisions to apply" in result.output) == (2, True)
    assert (tmp_path / "edited.csv").read_bytes() == before


@pytest.mark.parametrize("out", ["photos/audit", "photos/ant/00.png/audit"])
def test_a_place_that_will_not_do_is_told_before_anything_is_trained(photos, suspects, tmp_path, out):
    audit, before = suspects(), sorted(tmp_path.rglob("*"))
    result = run("photos", "--out", out)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert not hasattr(audit, "options")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_image_that_a_link_leads_to_is_left_out_and_told(photos, suspects, tmp_path):
    (photos / "ant" / "00.png").rename(tmp_path / "secret.png")
    (photos / "ant" / "00.png").symlink_to(tmp_path / "secret.png")
    suspects("bee/11.png")
    result = run("photos")
    assert result.exit_code == 0, result.output
    assert "such as photos/ant/00.png" in result.output
    assert set(labels("photos")) - set(labels("audit/cleaned")) == {"ant/00.png", "bee/11.png"}


def test_an_image_that_is_left_out_does_not_count_as_changed(photos, suspects, tmp_path):
    (photos / "ant" / "00.png").rename(tmp_path / "secret.png")
    (photos / "ant" / "00.png").symlink_to(tmp_path / "secret.png")
    suspects("ant/00.png", "bee/11.png")
    run("photos")
    decide({"ant/00.png": ("accept", ""), "bee/11.png": ("accept", "")})
    result = run("photos", "--apply", "edited.csv", "--mode", "relabel", "--out", "fixed")
    assert result.output.startswith("2 decisions: 1 of 9 labels changed\n")


@pytest.mark.parametrize(("options", "hidden"), [((), True), (("--images", "photos"), False)])
def test_a_listing_made_here_can_be_reviewed(photos, suspects, options, hidden):
    suspects("ant/00.png")
    run("photos", "--mode", "weight", "--out", "first")
    result = run("first/cleaned.csv", *options, "--out", "second")
    assert result.exit_code == 0, result.output
    assert ("lies outside the folder" in (photos.parent / "second" / "audit.html").read_text()) is hidden


@pytest.mark.parametrize(("options", "told"), [((), True), (("--images", "photos"), False), (("--quiet",), False)])
def test_images_that_will_not_be_shown_are_told_before_anything_is_trained(photos, monkeypatch, options, told):
    def stop(*_, **__):
        raise KeyboardInterrupt

    (photos.parent / "lists").mkdir()
    (photos.parent / "lists" / "list.csv").write_text("path,label\n../photos/ant/00.png,a\n../photos/bee/10.png,b\n")
    monkeypatch.setitem(sys.modules, "labelnoise.auditing.run", SimpleNamespace(audit=stop))
    output = run("lists/list.csv", *options).output
    assert ("will not show 2 of 2 images" in output and "outside lists; name" in output) is told
    assert ("--images" in output) is told


def test_a_listing_beside_the_images_starts_there(photos, suspects):
    suspects("ant/00.png")
    assert run("photos", "--mode", "weight", "--out", ".").exit_code == 0
    with open("cleaned.csv", newline="") as file:
        assert next(csv.DictReader(file))["path"] == "photos/ant/00.png"


def test_cleaned_listings_are_read_where_they_lie(photos, suspects, tmp_path):
    names = [path.relative_to(tmp_path) for path in sorted(photos.rglob("*.png"))]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *(f"{name},{name.parent.name}" for name in names)]))
    suspects("photos/ant/00.png")
    assert run("list.csv").exit_code == 0
    (tmp_path / "deep" / "er").mkdir(parents=True)
    result = run("list.csv", "--apply", "audit/issues.csv", "--out", "deep/er/clean.csv")
    assert result.exit_code == 0, result.output
    before = read("list.csv").x
    assert read("audit/cleaned.csv").x.tolist() == before[1:].tolist()
    assert read("deep/er/clean.csv").x.tolist() == before.tolist()


def test_as_many_rows_are_reviewed_as_are_asked_for(survey, suspects):
    suspects("p3", "p4", "p5")
    marks = set()
    for most, shown in ((2, 2), (2000, 20)):
        run(survey, *COLUMNS, "--rows", most, "--out", f"a{most}")
        with open(f"a{most}/review.csv", encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        marks |= {row["audit"] for row in rows}
        assert len(rows) == shown
        assert f"the {shown} most suspicious rows" in (survey.parent / f"a{most}" / "audit.html").read_text()
    assert len(marks) == 1  # so that decisions in the browser stay


def test_further_methods_reach_the_audit(survey, suspects):
    audit = suspects()
    run(survey, *COLUMNS, "--others", "ce", "--others", "gce(q=0.5)")
    assert audit.options["others"] == ("ce", "gce(q=0.5)")


def test_true_labels_tell_what_the_audit_is_worth(survey, suspects):
    rows = [f"p{n};{n};{'yes' if n % 2 else 'no'};{'yes' if n % 2 or n == 4 else 'no'}" for n in range(20)]
    survey.write_text("\n".join(["person;x;answer;truth", *rows, ""]))
    suspects("p4")
    result = run(survey, *COLUMNS, "--true-label-column", "truth")
    assert "By the true labels 1 of 20 labels are wrong, and 1 of the 1 most suspicious rows." in result.output


def test_a_column_of_weights_is_told_before_anything_is_trained(survey, suspects, tmp_path):
    audit = suspects()
    survey.write_text(survey.read_text().replace("x;", "label_weight;", 1))
    result = run(survey, *COLUMNS, "--mode", "weight")
    assert (result.exit_code, "has a column 'label_weight' already" in result.output) == (2, True)
    assert not hasattr(audit, "options")
    assert [path.name for path in survey.parent.iterdir()] == ["survey.csv"]


@pytest.mark.parametrize("content", [b"no array", None])
def test_a_file_of_probabilities_that_is_none_is_told(survey, suspects, tmp_path, content):
    suspects()
    path = tmp_path / "p.npy"
    if content:
        path.write_bytes(content)
    else:
        np.save(path, np.zeros(3))
    result = run(survey, *COLUMNS, "--probs", path)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "p.npy (--probs)" in result.output
