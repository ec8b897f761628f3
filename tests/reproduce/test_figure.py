import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import papers
from labelnoise.reproduce import outcomes
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.computed import COMPUTED
from labelnoise.reproduce.figure import TRAINED, drawn, numbers, train_cells
from labelnoise.reproduce.groups import groups
from labelnoise.reproduce.kept import OUTCOMES
from labelnoise.reproduce.run import WORK, Place
from labelnoise.reproduce.series import read, table
from labelnoise.reproduce.taken import LABELS, ROWS
from labelnoise.results.select import NoisyValidation
from labelnoise.results.store import Store
from labelnoise.sweep.run import Display

CPU = torch.device("cpu")
MEASURES = {  # those that a kind of figure understands; others are of records
    "margins": {f"margin/{rows}/{label}" for rows in ROWS for label in LABELS},
    "projection": {"projection"},
    "regions": {"regions"},
    "lines": {"line"},
    "residuals": {"residual", "weighted"},
}
PANELS = {"fig1": 2, "fig2": 1, "fig3": 4, "fig4": 2, "fig5": 2, "fig6": 3, "fig7": 2, "fig8": 2}
RUNS = {"fig1": 4, "fig2": 4, "fig3": 8, "fig4": 2, "fig5": 2, "fig6": 2, "fig7": 2, "fig8": 2}


class Counting(Display):
    def __init__(self):
        self.runs = 0

    def begin(self, name, runs, epochs, done):
        self.runs += runs


def made(source, name, out, *, methods=None, seeds=None, recipe="paper", display=None):
    """Series, drawing and the number of runs that were trained."""
    asked, figure, display = Table(source, name), figures(source)[name], display or Counting()
    cells = [cell for cell in figure.cells if methods is None or cell.method in methods]
    at = Place(out, CPU, display)
    train_cells(asked, figure, cells, seeds=seeds or figure.seeds, recipe=recipe, at=at)
    return *drawn(asked, figure, recipe, out), display.runs


def trained(out):
    """Every finished run of a folder, by identity."""
    stores = [Store.read(folder) for folder in (out / WORK).iterdir()]
    return {identity: run for store in stores for identity, run in store.runs().items()}


@pytest.mark.parametrize("name", PANELS)
def test_every_kind_is_trained_and_drawn_and_nothing_is_trained_twice(sketch, tmp_path, name):
    found, drawing, runs = made(sketch, name, tmp_path)
    assert (len(drawing.panels), runs) == (PANELS[name], RUNS[name])
    assert len({each.run for each in found if each.run}) == runs
    again, same, more = made(sketch, name, tmp_path)
    assert more == 0
    assert [each.origin for each in again] == [each.origin for each in found]
    assert [panel.caption for panel in same.panels] == [panel.caption for panel in drawing.panels]


def test_values_are_those_of_the_epoch_that_the_paper_reports(sketch, tmp_path):
    found, _, _ = made(sketch, "fig2", tmp_path)
    runs = trained(tmp_path)
    for each in found:
        expected = NoisyValidation().pick(runs[each.run].records).measures["test/accuracy_true"]
        assert each.numbers("value")[0].tolist() == [expected]
    printed = {each.method: each.numbers("published")[0][0] for each in found if "published" in each.columns}
    assert printed == {"LS 0.0": 0.715}


def test_values_by_epoch_are_those_of_the_records(sketch, tmp_path):
    found, _, _ = made(sketch, "fig3", tmp_path, methods=["CE"])
    runs = trained(tmp_path)
    for each in found:
        epochs, values = each.numbers("epoch", "value")
        assert epochs.tolist() == [1, 2, 3]
        assert values == pytest.approx([record.measures[each.measure] for record in runs[each.run].records], abs=1e-6)


def test_margins_count_all_rows_and_the_wrong_ones(sketch, tmp_path):
    found, _, _ = made(sketch, "fig4", tmp_path)
    runs = trained(tmp_path)
    for each in found:
        rate, rows = runs[each.run].noise_rate, each.numbers("rows")[0].sum()
        whole = round(0.7 * 1797)
        assert rows == pytest.approx(whole * (rate if each.measure == "margin/wrong/true" else 1), abs=1)


def test_a_figure_can_be_drawn_without_the_records_of_its_runs(sketch, tmp_path):
    out = tmp_path / "out"
    found, _, _ = made(sketch, "fig7", out)
    (out / WORK).rename(tmp_path / "elsewhere")
    again, drawing, runs = made(sketch, "fig7", out)
    assert (runs, len(drawing.panels), len(again)) == (0, 2, len(found))


def test_a_run_that_was_deleted_is_trained_again_though_its_numbers_are_there(sketch, tmp_path):
    out = tmp_path / "out"
    found, _, _ = made(sketch, "fig7", out)
    (out / WORK).rename(tmp_path / "elsewhere")
    lines = (out / OUTCOMES).read_text().splitlines(keepends=True)
    (out / OUTCOMES).write_text("".join(lines[1:]))
    again, _, runs = made(sketch, "fig7", out)
    assert (runs, len(again)) == (1, len(found))


def test_what_is_kept_of_no_figure_is_taken_from_records_that_are_there(sketch, tmp_path):
    made(sketch, "fig4", tmp_path)
    _, drawing, runs = made(sketch, "fig5", tmp_path)  # of the same runs
    assert (len(drawing.panels), runs) == (2, 0)


def test_methods_may_come_one_after_the_other(sketch, tmp_path):
    _, first, _ = made(sketch, "fig3", tmp_path, methods=["LS 0.2"], seeds=1)
    _, both, runs = made(sketch, "fig3", tmp_path, methods=["CE"], seeds=1)
    assert (len(first.panels), len(both.panels), runs) == (2, 4, 2)


def test_killed_and_typed_again_the_figure_is_the_same(sketch, tmp_path):
    whole, drawing, _ = made(sketch, "fig3", tmp_path / "whole")
    out, ticks = tmp_path / "out", []

    class Killed(Counting):
        def tick(self, epoch, step, steps):
            ticks.append(1)
            if len(ticks) in (3, 9, 17):
                raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            made(sketch, "fig3", out, display=Killed())
    again, same, _ = made(sketch, "fig3", out)
    assert table(again) == table(whole)
    assert same == drawing


def test_recipes_are_kept_apart(sketch, tmp_path):
    made(sketch, "fig3", tmp_path, methods=["CE"])
    found, _, runs = made(sketch, "fig3", tmp_path, methods=["CE"], recipe="fast")
    assert runs == 4
    assert {len(each.numbers("epoch")[0]) for each in found} == {1}
    assert len({numbers(Table(sketch, "fig3"), recipe, tmp_path) for recipe in ("paper", "fast")}) == 2


def test_a_run_that_failed_is_neither_drawn_nor_trained_again(sketch, tmp_path):
    found, _, _ = made(sketch, "fig5", tmp_path)
    first = found[0].run
    known = outcomes.read(tmp_path / OUTCOMES)
    known[first] = known[first].__class__(**known[first].__dict__ | {"failed": (0, 1), "measures": {}})
    outcomes.keep(tmp_path / OUTCOMES, known.values())
    path = numbers(Table(sketch, "fig5"), "paper", tmp_path)
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if first not in line))
    again, _, runs = made(sketch, "fig5", tmp_path)
    assert (runs, {each.run for each in again}) == (0, {each.run for each in found} - {first})


def test_without_any_run_there_is_nothing_to_draw(sketch, tmp_path):
    with pytest.raises(InputError, match="there is nothing to draw"):
        drawn(Table(sketch, "fig2"), figures(sketch)["fig2"], "paper", tmp_path)


def test_computed_figures_need_no_folder(sketch, tmp_path):
    found, drawing = drawn(Table(sketch, "fig9"), figures(sketch)["fig9"], "paper", tmp_path / "none")
    assert (len(found), len(drawing.panels)) == (4, 1)


@pytest.mark.parametrize("name", papers())
def test_every_published_figure_has_a_kind_measures_and_a_recipe(name):
    source = paper(name)
    for figure in figures(source).values():
        assert figure.kind in (TRAINED if figure.cells else COMPUTED)
        assert {cell.measure for cell in figure.cells} <= MEASURES.get(figure.kind, {c.measure for c in figure.cells})
        for recipe in ("paper", "fast"):
            together = groups(source, figure.cells, recipe)
            assert sum(len(group.cells) for group in together) == len(figure.cells)
            assert all(group.job(cell).noise == cell.noise for group in together for cell in group.cells)


def test_regions_of_moons_have_200_points_of_which_a_fifth_are_wrong():
    """As in the paper's picture, as far as one can count there: the number is ours."""
    source = paper("logistic_normal")
    (moons, _) = groups(source, figures(source)["fig3"].cells, "paper")
    split = moons.job(moons.cells[0]).split
    assert np.isclose(split.rows * (1 - split.validation - split.test), 200)


def test_numbers_are_read_from_the_file_of_the_figure(sketch, tmp_path):
    found, _, _ = made(sketch, "fig6", tmp_path)
    kept = read(numbers(Table(sketch, "fig6"), "paper", tmp_path))
    assert {each.origin for each in kept} == {each.origin for each in found}
