from dataclasses import replace

import pytest
import torch

from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.reproduce import estimate
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.beside import Beside, Spread
from labelnoise.reproduce.choices import Choice
from labelnoise.reproduce.groups import groups, trainings
from labelnoise.reproduce.kept import OUTCOMES
from labelnoise.reproduce.outcomes import read
from labelnoise.reproduce.writing import announced, published_over, titled, write_all

CPU = torch.device("cpu")


@pytest.fixture
def found(tiny):
    return [Beside(cell, {"last": Spread(88.0, 1.0, 2)}, "last", 2) for cell in tiny.published("table1")]


def test_it_is_said_beforehand_how_much_there_is_to_train(tiny, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    first, total = announced(groups(tiny, tiny.published("table1"), "paper"), 3, CPU)
    assert first == "digits, mlp: CE, GCE × 2 noises × 3 seeds, 12 runs × 2 epochs, about 30 seconds"
    assert total == "in all 12 runs, 24 epochs, about 30 seconds on cpu"


def test_methods_that_are_the_same_training_are_said_to_be(monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    source = paper("label_smoothing")
    cells = [
        cell for cell in figures(source)["fig2"].cells if cell.data == "cifar10" and cell.method[3:] in ("0.0", "0.1")
    ]
    first, _ = announced(groups(source, cells, "paper"), 3, CPU)
    assert "resnet32: LS 0.0 = FC 0.0 = BC 0.0, LS 0.1, FC 0.1, BC 0.1 × 1 noise × 3 seeds, 12 runs × " in first


def test_methods_without_some_of_the_noises_are_said_apart_so_that_runs_are_the_product(monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    source = paper("logistic_normal")
    cells = [cell for cell in source.cells("table1") if cell.data == "cifar10" and cell.method[:2] in ("CE", "LN")]
    first, _ = announced(groups(source, cells, "paper"), 5, CPU)
    assert (2 * 9 + 2) * 5 == 100
    assert 'wrn_28_2: (CE, LN × 9 noises; "LN, smoothing 0.1" × 2 noises) × 5 seeds, 100 runs × ' in first


def test_of_a_search_it_is_said_how_many_runs_it_has(tiny, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    first, total = announced(groups(tiny, tiny.published("table1"), "paper-search"), 3, CPU)
    runs = 2 * 3 + 2 * (3 + 2)  # cross-entropy with three seeds; three points, of which one goes on with two more
    assert f"{runs} runs (6 of a search) × 2 epochs" in first
    assert total.startswith(f"in all {runs} runs (6 of a search), {2 * runs} epochs, about 40 seconds")


@pytest.mark.parametrize(
    ("seeds", "runs", "epochs"),
    [
        (2, "0 runs; 8 runs are there already", "0 runs; 8 runs are there already"),
        (
            3,
            "4 runs × 2 epochs, about 10 seconds; 8 runs are there already",
            "4 runs, 8 epochs, about 10 seconds on cpu; 8 runs are there already",
        ),
    ],
)
def test_what_is_there_already_is_not_announced_again(tiny, record, seeds, runs, epochs):
    cells = tiny.published("table1")
    folder = record({(cell.method, cell.noise): (0.8, 0.9) for cell in cells})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
        said = list(announced(groups(tiny, cells, "paper"), seeds, CPU, read(folder / OUTCOMES)))
    assert said == [f"digits, mlp: CE, GCE × 2 noises × {seeds} seeds, {runs}", f"in all {epochs}"]


def test_epochs_that_are_done_of_interrupted_runs_take_no_more_time(tiny, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    begun = {config.identity: 1 for config in trainings(group, 3).configs}
    first, total = announced([group], 3, CPU, {}, begun)
    assert first.endswith("12 runs × 2 epochs, of which 12 are done, about 15 seconds")
    assert total == "in all 12 runs, 24 epochs, of which 12 are done, about 15 seconds on cpu"


def test_a_single_run_is_there(tiny, record, monkeypatch):
    monkeypatch.setattr(estimate, "rate", lambda data, job, device: 1000.0)
    known = read(record({("CE", "none"): (0.8,)}) / OUTCOMES)
    *_, total = announced(groups(tiny, tiny.published("table1"), "paper"), 1, CPU, known)
    assert total.endswith("; 1 run is there already")


def test_four_files_hold_the_table(tiny, found, tmp_path):
    paths = write_all(Table(tiny, "table1"), found, "fast", tmp_path)
    assert [path.name for path in paths] == [f"tiny-table1-fast.{kind}" for kind in ("md", "csv", "tex", "html")]
    assert all("88.00" in path.read_text() and "fast" in path.read_text() for path in paths)


def test_the_page_says_which_recipe_and_what_differs(tiny, found, tmp_path):
    *_, page = write_all(Table(tiny, "table1"), found, "fast", tmp_path)
    text = page.read_text()
    assert "fast: fewer epochs" in text
    assert "The paper is made up." in text
    assert "4 of 4 cells measured" in text


def test_the_page_tells_our_runs_from_the_published_ones_and_which_of_ours_failed(tiny, found, tmp_path):
    first, *others = [replace(each, noise_rate=0.361) for each in found]
    *_, page = write_all(Table(tiny, "table1"), [replace(first, failed=1), *others], "paper", tmp_path)
    text = page.read_text()
    assert "over 2 seeds" in text
    assert f"over {tiny.facts['protocol']['seeds']} seeds where a spread is printed, else one" in text
    assert "36.1 % wrong" in text
    assert "1 of 3 runs failed" in text


def test_the_title_names_the_epoch_that_our_figures_are_of(tiny, found):
    assert titled(Table(tiny, "table1"), "paper", found).endswith("; epoch of ours: last")
    calibrated = [replace(each, reported="selected") for each in found]
    assert titled(Table(tiny, "table1"), "paper", calibrated).endswith("; epoch of ours: selected")


def test_files_for_people_tell_how_the_table_was_made(tiny, found, tmp_path):
    facts = [("command", "labelnoise reproduce tiny/table1"), ("commit", "c0ffee")]
    document, _, latex, page = write_all(Table(tiny, "table1"), found, "paper", tmp_path, facts=facts)
    assert "| command | `labelnoise reproduce tiny/table1` |\n| commit | c0ffee |\n" in document.read_text()
    assert "% commit: c0ffee" in latex.read_text()
    assert "c0ffee" in page.read_text()


def test_a_number_of_seeds_that_is_not_stated_is_said_to_be_assumed():
    assert published_over({"seeds": 5}) == "over 5 seeds where a spread is printed, else one"
    assert "(assumed, for it is not stated)" in published_over(paper("f_divergence").facts["protocol"])


@pytest.fixture
def searched(tiny, found, tmp_path):
    choice = Choice(found[2].cell, {"q": 0.6}, {"q": 0.4}, 0.8765, points=3, finished=3, near=1, tied=0)
    paths = write_all(Table(tiny, "table1"), found, "paper-search", tmp_path, [choice])
    return {path.name.removeprefix("tiny-table1-paper-search"): path.read_text() for path in paths}


def test_a_searched_table_says_so_in_every_file(searched):
    assert set(searched) == {".md", ".csv", ".tex", ".html", "-chosen.csv"}
    said = "hyper-parameters searched anew on noisy validation"
    assert all(said in searched[end] for end in (".md", ".tex", ".html"))
    assert all("paper-search" in line for end in (".csv", "-chosen.csv") for line in searched[end].splitlines()[1:])


@pytest.mark.parametrize("end", [".md", ".html", "-chosen.csv"])
def test_what_was_chosen_stands_beside_what_the_authors_chose(searched, end):
    assert searched[end].index("q=0.6") < searched[end].index("q=0.4")
    assert "87.65" in searched[end] or "0.8765" in searched[end]


def test_a_table_without_a_search_says_nothing_of_one(tiny, found, tmp_path):
    paths = write_all(Table(tiny, "table1"), found, "paper", tmp_path)
    assert not any("searched" in path.read_text() for path in paths)
