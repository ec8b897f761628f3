import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from labelnoise.papers.figures import figures
from labelnoise.report.template import Drawing, Panel, legend
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.committed import named
from labelnoise.reproduce.figure import drawn
from labelnoise.reproduce.picture import markdown, write_figure
from labelnoise.reproduce.series import series

SVG = '<svg viewBox="0 0 100 50" role="img"><path d="M 0 0" /></svg>'
COMMITTED = sorted((Path(__file__).parents[2] / "results").glob("*/fig*/"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
DRAWING = Drawing([Panel(SVG, "digits")], "Means over seeds.", legend(["LS"]))


def values(cells):
    return [
        series(
            cell, f"{cell.method}{seed}", seed, {"value": np.array([0.7 + seed / 10]), "published": np.array([0.715])}
        )
        for cell in cells
        for seed in (0, 1)
    ]


@pytest.fixture
def written(sketch, tmp_path):
    asked, figure = Table(sketch, "fig2"), figures(sketch)["fig2"]
    paths = write_figure(asked, figure, values(figure.cells), DRAWING, recipe="fast", out=tmp_path / "out")
    return {path.suffix: path for path in paths}


def test_four_files_hold_the_figure(written):
    assert [path.name for path in written.values()] == [
        f"sketch-fig2-fast.{kind}" for kind in ("svg", "csv", "md", "html")
    ]


def test_the_picture_has_panels_and_key(written):
    root = ElementTree.fromstring(written[".svg"].read_text())
    assert [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")] == ["digits", "LS"]


def test_every_value_is_in_the_table(written):
    with written[".csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["seed"], row["value"]) for row in rows] == [
        ("LS 0.2", "0", "0.7"),
        ("LS 0.2", "1", "0.8"),
        ("LS 0.0", "0", "0.7"),
        ("LS 0.0", "1", "0.8"),
    ]


def test_the_page_says_recipe_and_deviations_and_holds_the_panels(written):
    text = written[".html"].read_text()
    assert all(words in text for words in ("recipe fast", "4 runs", "The figures are made up.", 'viewBox="0 0 100 50"'))


def test_markdown_shows_the_picture_and_means_beside_what_is_printed(written):
    text = written[".md"].read_text()
    assert "![Accuracy by alpha.](sketch-fig2-fast.svg)" in text
    assert "| digits | symmetric:0.4 | LS 0.2 | test/accuracy_true | 2 | 75.00 ± 7.07 | 71.50 |" in text


def test_only_accuracies_are_in_per_cent(sketch):
    figure = figures(sketch)["fig1"]
    found = values([cell for cell in figure.cells if cell.noise == "none"])
    lines = markdown(Table(sketch, "fig1"), figure, found, DRAWING, "paper").splitlines()[-2:]
    assert [line.split("|")[6].strip() for line in lines] == ["75.00 ± 7.07", "0.75 ± 0.07"]
    assert "by the epoch that the paper reports: selected" in markdown(
        Table(sketch, "fig1"), figure, found, DRAWING, "paper"
    )


def test_figures_without_a_value_for_each_run_have_no_table(sketch):
    figure = figures(sketch)["fig9"]
    text = markdown(Table(sketch, "fig9"), figure, [], DRAWING, "paper")
    assert text.startswith("sketch/fig9, computed\n")
    assert "|" not in text


def test_on_a_screen_there_is_no_picture(sketch):
    figure = figures(sketch)["fig9"]
    assert "![" not in markdown(Table(sketch, "fig9"), figure, [], DRAWING, "paper")


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
@pytest.mark.parametrize(("kind", "rounding"), [(".svg", 0.011), (".csv", 1e-6)])
def test_committed_figures_are_those_that_are_drawn_of_committed_records(folder, kind, rounding, tmp_path):
    """Nothing is trained for it; last digits may differ, for another machine rounds otherwise."""
    asked, recipe = named(folder)
    figure = figures(asked.paper)[asked.name]
    paths = write_figure(asked, figure, *drawn(asked, figure, recipe, folder), recipe=recipe, out=tmp_path)
    (path,) = (path for path in paths if path.suffix == kind)
    kept, again = (folder / path.name).read_text(encoding="utf-8"), path.read_text(encoding="utf-8")
    assert NUMBER.sub("#", again) == NUMBER.sub("#", kept)
    numbers = [np.array(NUMBER.findall(text), dtype=float) for text in (again, kept)]
    np.testing.assert_allclose(*numbers, rtol=1e-5, atol=rounding)
