import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from labelnoise.cli import main
from labelnoise.errors import InputError
from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import papers
from labelnoise.reproduce import estimate
from labelnoise.reproduce import run as module

TABLES = [f"{name}/{table}" for name in papers() for table in paper(name).tables]


FIGURES = {f"{name}/{key}": figure for name in papers() for key, figure in figures(paper(name)).items()}
FAST = [*TABLES, *(name for name, figure in FIGURES.items() if figure.cells)]  # of others nothing is trained


COMMANDS = Path(__file__).parents[1] / "results" / "commands.txt"
LINES = [line for line in COMMANDS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def run(*args):
    return CliRunner().invoke(main, ["reproduce", *args])


@pytest.mark.parametrize(
    ("table", "recipe"), [*((name, "paper") for name in (*TABLES, *FIGURES)), *((name, "fast") for name in FAST)]
)
def test_a_dry_run_of_every_table_says_how_much_it_is(table, recipe, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1e6)
    result = run(table, "--dry-run", "--recipe", recipe, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1].startswith(("in all ", "nothing is trained"))


@pytest.mark.parametrize("recipe", ["paper", "fast"])
@pytest.mark.parametrize(
    ("table", "runs", "tried"),
    [
        ("table1", 9 * (48 + 45 + 45) + 27 * (6 * 4 + 3 * 5) + (2 + 9 + 2) * 5, 9 * (48 + 45 + 45)),
        ("table2", 7 * (45 + 6 * 4 + 3 * 5) + 2 * 5, 7 * 45),
        ("table3", 2 * (3 + 4 * 6 + 5 * 4), 2 * (3 + 4 * 6)),
    ],
)
def test_a_dry_run_of_a_search_counts_grid_and_seeds(table, runs, tried, recipe, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1e6)
    result = run(f"logistic_normal/{table}", "--search", "--dry-run", "--recipe", recipe, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1].startswith(f"in all {runs} runs ({tried} of a search), ")


@pytest.mark.parametrize("table", [table for table in TABLES if not table.startswith("logistic_normal")])
def test_a_search_where_the_authors_had_no_grid_is_refused_in_a_sentence(table):
    result = run(table, "--search", "--dry-run")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "has no grid for" in result.output


def test_a_search_is_trained_printed_and_written_under_a_name_of_its_own(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("tiny/table1", "--search", "--only", "noise=none", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert (
        "recipe paper-search (as the paper says, hyper-parameters searched anew on noisy validation)" in result.output
    )
    assert "| digits | none | GCE | q=" in result.output
    folder = tmp_path / "runs" / "reproduce" / "tiny" / "table1-paper-search"
    ends = (".md", ".csv", ".tex", ".html", "-chosen.csv")
    assert {path.name for path in folder.iterdir()} >= {f"tiny-table1-paper-search{end}" for end in ends}


def test_the_papers_are_listed_with_their_tables_and_figures():
    result = CliRunner().invoke(main, ["list", "papers"])
    assert all(f"  {name} " in result.output for name in [*TABLES, *FIGURES])


def test_a_small_table_is_trained_printed_and_written(tiny, tmp_path):
    out = tmp_path / "out"
    result = run("tiny/table1", "--methods", "CE", "--only", "noise=none", "--device", "cpu", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "| digits | none | 0.0 % | CE | 2 |" in result.output
    assert "1 of 1 cells measured" in result.output
    kinds = ("md", "csv", "tex", "html")
    assert {path.name for path in out.iterdir()} >= {*(f"tiny-table1-paper.{kind}" for kind in kinds), "runs.jsonl"}
    quiet = run("tiny/table1", "--methods", "GCE", "--only", "noise=none", "--quiet", "--out", str(out))
    assert "cells measured" not in quiet.output
    written = (out / "tiny-table1-paper.md").read_text()
    assert "| digits | none | 0.0 % | GCE | 2 |" in written
    assert "| digits | none | 0.0 % | CE | 2 |" in written  # of the command before


def test_a_dry_run_says_what_it_would_train_also_when_it_is_to_be_quiet(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1e6)
    words = ("tiny/table1", "--methods", "CE", "--device", "cpu", "--quiet", "--out", str(tmp_path / "out"))
    assert run(*words, "--dry-run").output.endswith("in all 4 runs, 8 epochs, about 1 second on cpu\n")
    assert run(*words).exit_code == 0
    assert run(*words, "--dry-run").output.endswith("in all 0 runs; 4 runs are there already\n")


def test_how_the_device_is_used_can_be_said_and_is_kept(tiny, tmp_path):
    options = "--methods CE --only noise=none --seeds 1 --precision float32 --deterministic --executor packed --quiet"
    assert run("tiny/table1", *options.split(), "--device", "cpu", "--out", str(tmp_path)).exit_code == 0
    (outcome,) = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    said = {"executor": "packed", "precision": "float32", "deterministic": True, "eager": False}
    assert outcome["facts"]["execution"] == said


def test_data_that_are_missing_are_told_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    result = run("f_divergence/table3", "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "mnist, fashion_mnist, cifar10, cifar100" in result.output
    assert not (tmp_path / "out").exists()


def test_a_table_is_written_as_far_as_it_was_trained(tiny, tmp_path, monkeypatch):
    trained = module.finish

    def fails_at_gce(group, runs, missing, at):
        if any(config.method.name == "gce" for config in missing):
            raise InputError("no more")
        return trained(group, runs, missing, at)

    options = ["--only", "noise=none", "--seeds", "1", "--device", "cpu", "--quiet"]
    assert run("tiny/table1", *options, "--methods", "CE", "--out", str(tmp_path)).exit_code == 0
    (tmp_path / "tiny-table1-paper.md").unlink()
    monkeypatch.setattr(module, "finish", fails_at_gce)
    assert run("tiny/table1", *options, "--methods", "GCE", "--out", str(tmp_path)).exit_code == 2
    assert "| digits | none | 0.0 % | CE | 1 |" in (tmp_path / "tiny-table1-paper.md").read_text()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_one_is_refused_in_a_sentence(place, tiny, tmp_path):
    (tmp_path / "file").touch()
    result = run("tiny/table1", "--device", "cpu", "--out", str(tmp_path / place))
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "cannot be used" in result.output


@pytest.mark.parametrize("line", LINES)
def test_what_is_to_be_measured_can_be(line, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1e6)
    result = run(*shlex.split(line), "--dry-run", "--device", "cpu")
    assert result.exit_code == 0, result.output


def test_what_nobody_published_is_refused_in_a_sentence():
    result = run("logistic_normal/table1", "--only", "data=svhn", "--dry-run")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "no cell has data 'svhn'" in result.output


def test_methods_that_name_none_are_refused_in_a_sentence():
    result = run("logistic_normal/table1", "--methods", "", "--dry-run")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "--methods names none" in result.output


def test_a_folder_whose_recipe_was_mended_since_takes_no_more_cells_until_its_own_are_trained_again(tiny, tmp_path):
    words = ("tiny/table1", "--only", "noise=none", "--seeds", "1", "--quiet", "--out", str(tmp_path / "out"))
    assert run(*words, "--methods", "CE").exit_code == 0
    recipe = tiny.folder / "paper.yaml"
    recipe.write_text(recipe.read_text().replace("epochs: 2", "epochs: 3"))
    refused = run(*words, "--methods", "GCE")
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert "has CE on digits, none, by another recipe than paper is today (not the same: train)" in refused.output
    again = run(*words)
    assert again.exit_code == 0, again.output
    assert again.output.count("| digits | none |") == 2


def test_a_small_figure_is_trained_drawn_and_written(sketch, tmp_path):
    out = tmp_path / "out"
    result = run("sketch/fig2", "--methods", "LS 0.2", "--seeds", "1", "--device", "cpu", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "| digits | symmetric:0.4 | LS 0.2 | test/accuracy_true | 1 |" in result.output
    kinds = ("svg", "csv", "md", "html")
    assert {path.name for path in out.iterdir()} >= {*(f"sketch-fig2-paper.{kind}" for kind in kinds), "runs.jsonl"}
    quiet = run("sketch/fig2", "--methods", "LS 0.0", "--seeds", "1", "--quiet", "--out", str(out))
    assert str(out) not in quiet.output
    assert (out / "sketch-fig2-paper.csv").read_text().count("\n") == 3  # the method of the command before too


def test_what_is_computed_is_drawn_at_once(tmp_path):
    result = run("label_smoothing/fig1", "--device", "cpu", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert "nothing is trained: it is computed" in result.output
    assert (tmp_path / "out" / "label_smoothing-fig1-paper.svg").exists()


@pytest.mark.parametrize(
    "option", [("--seeds", "3"), ("--recipe", "fast"), ("--only", "data=mnist"), ("--methods", "CE")]
)
def test_what_is_computed_has_neither_cells_to_choose_nor_seeds_nor_recipe(option, tmp_path):
    result = run("label_smoothing/fig1", *option, "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "label_smoothing/fig1 is computed, nothing is trained; leave out --only, --methods, --se" in result.output


def test_a_figure_is_not_searched():
    result = run("label_smoothing/fig5", "--search", "--dry-run")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "leave out --search" in result.output
