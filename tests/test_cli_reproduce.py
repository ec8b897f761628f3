import pytest
from click.testing import CliRunner

from labelnoise.cli import main
from labelnoise.papers import paper
from labelnoise.papers.paper import papers
from labelnoise.reproduce import estimate

TABLES = [f"{name}/{table}" for name in papers() for table in paper(name).tables]


def run(*args):
    return CliRunner().invoke(main, ["reproduce", *args])


@pytest.mark.parametrize("recipe", ["paper", "fast"])
@pytest.mark.parametrize("table", TABLES)
def test_a_dry_run_of_every_table_says_how_much_it_is(table, recipe, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1e6)
    result = run(table, "--dry-run", "--recipe", recipe, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1].startswith("in all ")


def test_the_papers_are_listed_with_their_tables():
    result = CliRunner().invoke(main, ["list", "papers"])
    assert all(table in result.output for table in TABLES)


def test_a_small_table_is_trained_printed_and_written(tiny, tmp_path):
    out = tmp_path / "out"
    result = run("tiny/table1", "--methods", "CE", "--only", "noise=none", "--device", "cpu", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "| digits | none | CE | 2 |" in result.output
    assert "1 of 1 cells measured" in result.output
    kinds = ("md", "csv", "tex", "html")
    assert {path.name for path in out.iterdir()} >= {*(f"tiny-table1-paper.{kind}" for kind in kinds), "runs.jsonl"}
    quiet = run("tiny/table1", "--methods", "GCE", "--only", "noise=none", "--quiet", "--out", str(out))
    assert "cells measured" not in quiet.output
    written = (out / "tiny-table1-paper.md").read_text()
    assert "| digits | none | GCE | 2 |" in written
    assert "| digits | none | CE | 2 |" in written  # of the command before


def test_what_nobody_published_is_refused_in_a_sentence():
    result = run("logistic_normal/table1", "--only", "data=svhn", "--dry-run")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "no cell has data 'svhn'" in result.output
