import csv
import math
from collections import Counter
from itertools import groupby

import pytest
from scipy.stats import ttest_ind_from_stats

from labelnoise import configure
from labelnoise.config import Job
from labelnoise.errors import InputError
from labelnoise.methods import Method, build
from labelnoise.methods.base import METHODS
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import paper, papers

PAPER = paper("logistic_normal")
DATA = [name for each in PAPER.facts["recipes"] for name in each["for"]]


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_what_is_printed_in_bold_is_what_a_pooled_t_test_says(table) -> None:
    """All 306 marks of the two tables follow from the printed means and stds of five runs."""
    cells = sorted(PAPER.published(table), key=lambda cell: (cell.data, cell.noise))
    for _, column in groupby(cells, key=lambda cell: (cell.data, cell.noise)):
        together = list(column)
        assert len(together) == 9
        best = max(together, key=lambda cell: cell.mean)
        for cell in together:
            p = ttest_ind_from_stats(best.mean, best.std, 5, cell.mean, cell.std, 5).pvalue
            assert cell.best == (p >= 0.05), cell


def test_the_tables_have_all_their_cells() -> None:
    assert {table: len(PAPER.published(table)) for table in PAPER.tables} == {"table1": 243, "table2": 63, "table3": 10}


def test_variants_that_are_not_printed_are_cells_all_the_same() -> None:
    source = paper("causal_nl")
    more = [cell for cell in source.cells("table1") if cell not in source.published("table1")]
    assert {(cell.data, cell.method, cell.printed) for cell in more} == {
        ("fashion_mnist", "CausalNL as printed", False)
    }
    assert source.method("CausalNL as printed", "fashion_mnist", "instance:0.2").settings == {"preset": "paper"}


@pytest.mark.parametrize("data", DATA)
def test_every_recipe_is_a_comparison_that_can_be_built(data) -> None:
    job = configure.build(Job, PAPER.settings(data, "none", ["CE", "LN"]))
    assert (job.seeds, [each.name for each in job.methods]) == (5, ["ce", "logistic_normal"])


@pytest.mark.parametrize("label", PAPER.facts["methods"])
def test_every_method_can_be_built_with_what_was_chosen_and_with_what_was_tried(label) -> None:
    cells = {(cell.data, cell.noise) for table in PAPER.tables for cell in PAPER.published(table)}
    for data, noise in cells:
        named = PAPER.method(label, data, noise)
        build(named.name, named.settings)
        for setting, values in PAPER.grid(label, data).items():
            assert setting in METHODS.get(named.name).__dataclass_fields__
            if setting in named.settings:
                assert named.settings[setting] in values


def test_pixels_of_mnist_are_left_between_0_and_1() -> None:
    """What suits the data comes first, and would shift and scale them."""
    suited = {"train": {"augment": {"mean": [0.1307], "std": [0.3081]}}}
    job = configure.build(Job, configure.merge(suited, PAPER.settings("mnist", "none", ["CE"])))
    assert (job.train.augment.mean, job.train.augment.std) == ((), ())


def test_hyper_parameters_are_those_of_the_cell() -> None:
    assert PAPER.method("LN", "mnist", "asymmetric:0.4:exact").settings == {"temperature": 0.5, "floor": 0.1}
    variant = PAPER.method("LN, smoothing 0.1", "mnist", "asymmetric:0.4:exact").settings
    assert variant == {"smoothing": 0.1, "temperature": 0.5, "floor": 0.1}
    assert PAPER.method("GCE", "mnist", "random:0.4:exact").settings == {"q": 0.9}
    assert PAPER.method("LN", "clothing1m", "none").settings == {"smoothing": 0.1, "temperature": 1, "floor": 1}
    assert PAPER.method("LN, diagonal", "cifar100n", "none").settings["floor"] == 0.5


def test_forward_is_trained_twice_as_long_for_its_matrix_is_that_of_a_network_that_has_memorised() -> None:
    train = PAPER.recipe("mnist", "Forward")["train"]
    assert (train["epochs"], train["carry"], train["batch"]) == (200, "last", 256)


def test_floors_of_a_tenth_were_tried_on_mnist_alone() -> None:
    assert PAPER.grid("LN", "mnist")["floor"] == (0.1, 0.5, 1)
    assert PAPER.grid("LN", "cifar10")["floor"] == (0.5, 1)
    assert PAPER.grid("CE", "cifar10") == {}


def test_a_mnist_run_has_as_many_steps_as_the_authors_counted() -> None:
    recipe = PAPER.recipe("mnist", "LN")
    rows = recipe["split"]["rows"] * (1 - recipe["split"]["validation"] / (1 - recipe["split"]["test"]))
    assert math.floor(recipe["train"]["batch"] * 17579 / rows) == recipe["train"]["epochs"]


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: paper("logistic"), "there is no paper 'logistic'; did you mean 'logistic_normal'?"),
        (lambda: PAPER.published("table4"), "paper 'logistic_normal' has no 'table4'; did you mean"),
        (lambda: PAPER.method("LN", "mnist", "random:0.4"), "nothing was chosen for LN on mnist under 'random:0.4'"),
        (lambda: PAPER.recipe("svhn", "LN"), "paper 'logistic_normal' has no recipe for 'svhn'"),
        (lambda: PAPER.method("Peer", "mnist", "none"), "paper 'logistic_normal' has no method 'Peer'"),
        (lambda: PAPER.settings("mnist", "none", ["Het", "LN", "Het-τ"]), "variants, or trained differently"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(ask, sentence) -> None:
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        ask()


def networks_in_turn(method: Method) -> int:
    """How many begin anew, one after the other."""
    return 1 + sum(bool(stage.restart) or stage.name == "student" for stage in method.stages())


@pytest.mark.parametrize("name", papers())
def test_a_method_that_trains_two_networks_in_turn_has_epochs_for_both(name):
    source = paper(name)
    cells = [cell for table in source.tables for cell in source.cells(table)]
    cells += [cell for figure in figures(source).values() for cell in figure.cells]
    for data, noise, label in {(cell.data, cell.noise, cell.method) for cell in cells}:
        (short,) = (each["train"]["epochs"] for each in source.facts["fast"] if data in each["for"])
        named = source.method(label, data, noise, fast=True)
        epochs = source.recipe(data, label, fast=True)["train"]["epochs"]
        assert epochs == short * networks_in_turn(build(named.name, named.settings)), (data, label)


def chosen(row: dict[str, str]) -> frozenset[tuple[str, float]]:
    return frozenset((key, float(value)) for key, value in (pair.split("=") for pair in row["settings"].split()))


@pytest.mark.parametrize("data", ["mnist", "cifar10", "cifar100"])
def test_settings_of_the_fast_recipe_are_those_that_the_authors_chose_most_often(data):
    with (PAPER.folder / "chosen.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["data"].partition(":")[0] in (data, f"{data}n")]
    for label in {row["method"] for row in rows}:
        counts = Counter(chosen(row) for row in rows if row["method"] == label)
        fast = PAPER.method(label, data, "none", fast=True).settings.items()
        assert [count for settings, count in counts.items() if settings <= fast] == [max(counts.values())]
