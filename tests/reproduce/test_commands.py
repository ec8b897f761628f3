import shlex
from itertools import pairwise

import pytest

from labelnoise.papers import paper
from labelnoise.papers.paper import papers
from labelnoise.reproduce.asked import KEYS, Table, chosen, parsed, table
from labelnoise.reproduce.commands import boxes, commands

TABLES = [f"{name}/{each}" for name in papers() for each in paper(name).tables]


def meant(cells, command):
    """The cells that a command trains, and with how many seeds."""
    words = shlex.split(command)
    only = [value for option, value in pairwise(words) if option == "--only"]
    methods = [value for option, value in pairwise(words) if option == "--methods"]
    only += [f"method={each}" for value in methods for each in value.split(",")]
    return dict.fromkeys(chosen(cells, parsed(only)), int(words[words.index("--seeds") + 1]))


@pytest.mark.parametrize("name", ["causal_nl/table1", "label_smoothing/table3", "logistic_normal/table3"])
def test_of_a_whole_table_it_is_one_command_without_wishes(name):
    source = table(name)
    seeds = dict.fromkeys(source.paper.cells(source.name), 3)
    assert commands(source, "paper", seeds, "out") == [f"labelnoise reproduce {name} --seeds 3 --out out"]


@pytest.mark.parametrize("name", TABLES)
def test_the_commands_train_the_measured_cells_and_no_others(name):
    source = table(name)
    cells = source.paper.cells(source.name)
    seeds = {cell: 3 + place % 2 for place, cell in enumerate(cells) if place % 5}
    found = [meant(cells, command) for command in commands(source, "paper", seeds, "out")]
    assert sum(map(len, found)) == len(seeds)
    assert {cell: runs for each in found for cell, runs in each.items()} == seeds


def test_a_block_of_a_table_is_named_by_its_data_alone():
    source = table("logistic_normal/table1")
    seeds = {cell: 5 for cell in source.paper.cells("table1") if cell.data == "mnist"}
    (command,) = commands(source, "fast", seeds, "results/here")
    wishes = "--only data=mnist --seeds 5 --recipe fast --out results/here"
    assert command == f"labelnoise reproduce logistic_normal/table1 {wishes}"


@pytest.mark.parametrize(("recipe", "words"), [("paper-search", "--search"), ("fast-search", "--recipe fast --search")])
def test_a_searched_table_is_asked_for_by_its_recipe_and_a_search(recipe, words):
    source = table("causal_nl/table1")
    seeds = dict.fromkeys(source.paper.cells("table1"), 3)
    typed = commands(source, recipe, seeds, "out", flags=["--precision", "float32"])
    assert typed == [f"labelnoise reproduce causal_nl/table1 --seeds 3 {words} --precision float32 --out out"]


def test_names_with_spaces_are_quoted():
    source = table("logistic_normal/table3")
    cells = [cell for cell in source.paper.published("table3") if cell.method == "LN, full"]
    (command,) = commands(source, "paper", dict.fromkeys(cells, 1), "out")
    assert "--only 'method=LN, full'" in command


def test_cells_that_differ_in_one_key_are_one_block(tiny):
    cells = Table(tiny, "table1").paper.published("table1")
    (box,) = boxes(cells)
    assert dict(zip(KEYS, box, strict=True))["method"] == {"CE", "GCE"}
    assert len(boxes(cells[:3])) == 2
