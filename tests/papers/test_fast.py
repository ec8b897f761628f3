"""The fast recipes: what a person gets who does not search."""

import csv
from collections import Counter

import pytest

from labelnoise.methods import Method, build
from labelnoise.papers.figures import figures
from labelnoise.papers.paper import paper, papers


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


@pytest.mark.parametrize("data", ["mnist", "cifar10", "cifar100"])
def test_settings_of_the_logistic_normal_paper_are_those_that_its_authors_chose_most_often(data):
    source = paper("logistic_normal")
    with (source.folder / "chosen.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["data"].partition(":")[0] in (data, f"{data}n")]
    for label in {row["method"] for row in rows}:
        counts = Counter(row["settings"] for row in rows if row["method"] == label)
        fast = source.method(label, data, "none", fast=True).settings
        most = [settings for settings, count in counts.items() if count == max(counts.values())]
        pairs = [dict(pair.split("=") for pair in settings.split()) for settings in most]
        assert {key: float(fast[key]) for key in pairs[0]} in [
            {key: float(value) for key, value in each.items()} for each in pairs
        ]
