"""Every example is run as a reader would run it, in an empty folder, and must show what it promises."""

import csv
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelnoise.cli import main
from labelnoise.methods import METHODS
from labelnoise.methods.own import find_methods
from labelnoise.testing import CHECKS, problem

EXAMPLES = Path(__file__).parents[1] / "examples"
TESTED = {
    "comparison.yaml",
    "dataframe.py",
    "images_folder.py",
    "lightning_step.py",
    "own_loop.py",
    "own_method.py",
    "own_step.py",
    "trainer_step.py",
    "wine_csv.py",
}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))


def run(name):
    """The variables of an example when it has ended."""
    return runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == TESTED


def test_every_example_is_on_the_contents_page():
    page = (EXAMPLES.parent / "docs" / "index.md").read_text()
    assert [name for name in sorted(TESTED) if f"(../examples/{name})" not in page] == []


def test_new_wines_are_mostly_predicted_right_although_a_third_of_the_labels_are_wrong(capsys):
    found = run("wine_csv.py")
    rows = list(csv.DictReader(Path("runs/examples/new_wine_predicted.csv").read_text().splitlines()))
    assert [row["predicted"] for row in rows] == found["prediction"].labels
    assert sum(row["predicted"] == true for row, true in zip(rows, found["true"], strict=True)) >= 32
    assert found["comparison"].report.exists()
    assert "True labels are unknown" in capsys.readouterr().out


def test_a_data_frame_is_judged_by_the_true_labels_given_with_it():
    summary = run("dataframe.py")["summary"]
    assert summary.reference == "true labels"
    assert {row.label for row in summary.rows} == {"ce", "gce", "forward"}
    assert min(min(row.accuracies["selected"]) for row in summary.rows) > 0.8


def test_images_that_the_model_doubts_most_lie_in_wrong_folders():
    doubted = run("images_folder.py")["doubted"]
    wrong = [file for file in doubted if file[0] != file.removesuffix(".png")[-1]]
    assert len(wrong) >= 8


def test_robust_losses_in_an_own_loop_beat_cross_entropy():
    accuracies = run("own_loop.py")["accuracies"]
    assert min(accuracies["GCELoss"], accuracies["ForwardLoss"]) > accuracies["cross-entropy"]


def test_co_teaching_in_an_own_loop_beats_cross_entropy():
    accuracies = run("own_step.py")["accuracies"]
    assert accuracies["co_teaching"] > accuracies["ce"] + 0.03


@pytest.mark.parametrize(
    ("name", "packages"),
    [("lightning_step.py", ("lightning",)), ("trainer_step.py", ("transformers", "accelerate"))],
)
def test_a_method_learns_in_someone_elses_loop(name, packages):
    for package in packages:
        pytest.importorskip(package, reason=f"{name} needs {package}, which labelnoise does not")
    assert run(name)["accuracy"] > 0.8


def test_an_own_method_is_compared_with_plain_training():
    rows = {row.label: row for row in run("own_method.py")["comparison"].summary.rows}
    assert set(rows) == {"ce", "bootstrap"}
    assert min(rows["bootstrap"].accuracies["selected"]) > 0.8


def test_the_own_method_passes_the_conformance_suite():
    (method,) = find_methods(str(EXAMPLES / "own_method.py"))
    assert [fact for fact, check in CHECKS.items() if problem(check, method)] == []


def test_the_config_file_trains_what_it_names():
    result = CliRunner().invoke(
        main, ["train", "--config", str(EXAMPLES / "comparison.yaml"), "--epochs", "3", "--seeds", "1", "--out", "out"]
    )
    assert result.exit_code == 0, result.output
    assert {path.parent.name.split("-")[0] for path in Path("out").glob("*/finished.json")} == {"ce", "gce", "forward"}
    assert "noise pair:0.3" in result.output
