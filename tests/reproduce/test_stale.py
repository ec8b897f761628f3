import json

import pytest
import torch

from labelnoise.data.dataset import DATASETS, Dataset
from labelnoise.data.standard.catalogue import find
from labelnoise.errors import InputError
from labelnoise.papers import paper
from labelnoise.papers.paper import papers
from labelnoise.reproduce.asked import Table
from labelnoise.reproduce.groups import Group, groups, trainings
from labelnoise.reproduce.stale import changed, check, expected
from labelnoise.sweep.plan import told

STANDARD = sorted(
    {
        (name, cell.data)
        for name in papers()
        for table in paper(name).tables
        for cell in paper(name).published(table)
        if not find(cell.data).on_request
    }
)


def images(data):
    card, y = find(data), torch.arange(600) % find(data).classes
    x = torch.zeros(len(y), *card.shape, dtype=torch.uint8)
    return Dataset(data, x, y, y, tuple(map(str, range(card.classes))), known_as=data)


def configs(source, recipe="paper"):
    """What the planner makes of every cell, which reads the data, as it is kept in a file."""
    (group,) = groups(source, source.published("table1"), recipe)
    return {cell: json.loads(json.dumps(own[0].to_dict())) for cell, own in trainings(group, 1).runs}


@pytest.mark.parametrize("recipe", ["paper", "fast"])
def test_what_is_expected_without_data_is_what_is_planned_with_them(tiny, recipe):
    for cell, config in configs(tiny, recipe).items():
        assert changed(expected(tiny, cell, recipe), config) == []


@pytest.mark.parametrize(("name", "data"), STANDARD)
def test_the_same_holds_for_every_method_of_the_papers_on_images_of_the_right_shape(name, data, monkeypatch):
    monkeypatch.setitem(DATASETS._things, data, lambda seed: images(data))
    source = paper(name)
    cells = {cell.method: cell for table in source.tables for cell in source.published(table) if cell.data == data}
    for cell in cells.values():
        ((_, (config,)),) = trainings(Group(source, "paper", (cell,)), 1).runs
        assert changed(expected(source, cell, "paper"), config.to_dict()) == [], cell


@pytest.mark.parametrize("name", papers())
def test_a_rate_that_methods_are_told_changes_nothing(name):
    source = paper(name)
    cells = {cell.method: cell for table in source.tables for cell in source.published(table)}
    for cell in cells.values():
        today = expected(source, cell, "paper")
        method = told(Group(source, "paper", (cell,)).job(cell).methods[0], 0.37)
        assert changed(today, today | {"method": {"name": method.name, "settings": dict(method.settings)}}) == []


def test_each_section_that_was_mended_is_named(tiny):
    cell, config = next(iter(configs(tiny).items()))
    config["train"]["epochs"], config["net"]["settings"]["widths"], config["transition"] = 7, "32", "other"
    assert sorted(changed(expected(tiny, cell, "paper"), config)) == ["net", "train", "transition"]


def test_a_hyper_parameter_that_was_mended_is_a_change(tiny):
    cell, config = next((cell, config) for cell, config in configs(tiny).items() if cell.method == "GCE")
    config["method"]["settings"]["q"] = 0.45
    assert changed(expected(tiny, cell, "paper"), config) == ["method"]


def test_a_setting_that_came_later_has_its_default(tiny):
    cell, config = next(iter(configs(tiny).items()))
    del config["train"]["carry"]
    assert changed(expected(tiny, cell, "paper"), config) == []


def test_a_folder_is_refused_if_one_of_these_cells_is_by_an_older_recipe(tiny, record):
    folder, table, cells = record(), Table(tiny, "table1"), tiny.published("table1")
    check(table, cells, "paper", folder)
    tiny.facts["recipes"][0]["train"]["epochs"] = 3
    with pytest.raises(InputError, match=r"has CE on digits, none, by another recipe than paper is today .*: train\)"):
        check(table, cells, "paper", folder)
    check(table, cells[2:], "paper", folder)


def test_cells_of_the_other_recipe_play_no_part(tiny, record):
    folder = record()
    tiny.facts["recipes"][0]["train"]["epochs"] = 3
    check(Table(tiny, "table1"), tiny.published("table1"), "fast", folder)
