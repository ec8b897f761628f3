import math

import pytest

from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import papers

NAMES = {
    "causal_nl": ["fig2"],
    "f_divergence": ["fig1"],
    "label_smoothing": [f"fig{number}" for number in range(1, 10)],
    "logistic_normal": [f"fig{number}" for number in range(1, 8)],
}


@pytest.mark.parametrize("name", papers())
def test_every_figure_of_data_is_there_with_a_sentence(name):
    found = figures(paper(name))
    assert list(found) == NAMES[name]
    assert all(figure.shows.endswith(".") and figure.seeds >= 1 for figure in found.values())


@pytest.mark.parametrize("name", papers())
def test_no_cell_of_a_figure_is_there_twice(name):
    for figure in figures(paper(name)).values():
        assert len({*figure.cells}) == len(figure.cells)


def test_cells_are_all_that_a_part_names(sketch):
    cells = figures(sketch)["fig3"].cells
    assert len(cells) == 2 * 2 * 2
    assert {(cell.data, cell.noise) for cell in cells} == {("digits", "none"), ("digits", "symmetric:0.4")}


def test_parts_need_not_have_the_same_measures(sketch):
    found = [(cell.method, cell.measure) for cell in figures(sketch)["fig6"].cells]
    assert found == [("LN, identity", "residual"), ("LN", "residual"), ("LN", "weighted")]


def test_a_mean_is_that_of_the_same_training_by_whatever_name(sketch):
    by_method = {cell.method: cell for cell in figures(sketch)["fig2"].cells}
    assert (by_method["LS 0.0"].mean, by_method["LS 0.0"].std) == (71.5, 1.0)  # of CE
    assert math.isnan(by_method["LS 0.2"].mean)
    assert by_method["LS 0.2"].std is None


def test_figure_2_of_label_smoothing_has_the_means_of_table_7():
    source = paper("label_smoothing")
    table = {(cell.data, cell.method): cell.mean for cell in source.published("table7") if cell.net == "resnet32"}
    cells = {(cell.data, cell.method): cell.mean for cell in figures(source)["fig2"].cells}
    for data in ("cifar10", "cifar100"):
        assert {cells[data, f"{family} 0.0"] for family in ("LS", "FC", "BC")} == {table[data, "CE"]}
        assert all(cells[data, f"{family} 0.1"] == table[data, f"{family} 0.1"] for family in ("LS", "FC", "BC"))
    assert sum(not math.isnan(mean) for mean in cells.values()) == 2 * 6


def test_figure_5_of_logistic_normal_has_the_mean_that_table_1_prints_of_the_chosen_setting():
    source = paper("logistic_normal")
    (printed,) = (
        cell.mean
        for cell in source.published("table1")
        if (cell.data, cell.noise, cell.method) == ("cifar10", "random:0.4", "LN")
    )
    means = {cell.method: cell.mean for cell in figures(source)["fig5"].cells if not math.isnan(cell.mean)}
    assert means == {"LN λ=0.5 τ=1": printed}


def test_seeds_are_the_papers_unless_a_figure_shows_single_runs(sketch):
    found = figures(sketch)
    assert (found["fig1"].seeds, found["fig4"].seeds) == (2, 1)


def test_what_is_computed_has_values_and_no_cells():
    figure = figures(paper("logistic_normal"))["fig2"]
    assert (figure.cells, figure.values) == ((), (0.5, 1.0, 2.0))


@pytest.mark.parametrize("name", papers())
def test_the_fast_recipe_of_every_cell_has_fewer_epochs_than_the_papers(name):
    source = paper(name)
    cells = [cell for table in source.tables for cell in source.cells(table)]
    cells += [cell for figure in figures(source).values() for cell in figure.cells]
    for data, method, net in {(cell.data, cell.method, cell.net) for cell in cells}:
        slow, fast = (source.recipe(data, method, net, fast=fast)["train"]["epochs"] for fast in (False, True))
        assert fast < slow, (data, method)
