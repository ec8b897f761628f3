import pytest

from labelnoise.comparing import make_plan
from labelnoise.papers import paper
from labelnoise.reproduce.groups import groups, trainings
from labelnoise.results.store import VARIOUS
from labelnoise.sweep.plan import plan_packs

PAPERS = ("causal_nl", "f_divergence", "label_smoothing", "logistic_normal")
TABLES = [(name, table) for name in PAPERS for table in paper(name).tables]


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_every_published_cell_is_in_one_group_whose_recipe_is_its_own(name, table):
    source = paper(name)
    cells = source.published(table)
    found = groups(source, cells, "paper")
    assert sorted(cell for group in found for cell in group.cells) == sorted(cells)
    assert len({group.name for group in found}) == len(found)
    for group in found:
        jobs = [group.job(cell) for cell in group.cells]
        assert all((job.net, job.train, job.split) == (jobs[0].net, jobs[0].train, jobs[0].split) for job in jobs)


def test_cells_that_tell_of_the_same_runs_are_trained_once():
    (group,) = groups(paper("label_smoothing"), paper("label_smoothing").published("table3"), "paper")
    assert (len(group.cells), len(group.trained)) == (12, 3)


def test_runs_are_those_of_a_comparison_under_each_noise(tiny):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    found = trainings(group, seeds=2)
    for cell, configs in found.runs:
        plan = make_plan(tiny.settings(cell.data, cell.noise, [cell.method]))
        assert [config.seed for config in configs] == [0, 1]
        for config in configs:
            assert (config.noise, config.train, config.split) == (cell.noise, plan.job.train, plan.job.split)
        assert all(config.method.name == plan.job.methods[0].name for config in configs)
    assert [configs[0].method.settings["q"] for cell, configs in found.runs if cell.method == "GCE"] == [0.4, 0.8]
    assert found.common["noise"] == VARIOUS


def test_all_noises_of_a_method_share_a_pack(tiny):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    packs = plan_packs(trainings(group, seeds=2).configs)
    assert [len(pack.configs) for pack in packs] == [4, 4]


def test_the_fast_recipe_is_another_group_with_one_setting_for_all_noises(tiny):
    (literal,), (fast,) = (groups(tiny, tiny.published("table1"), recipe) for recipe in ("paper", "fast"))
    assert literal.name != fast.name
    assert {fast.job(cell).train.epochs for cell in fast.cells} == {1}
    assert {fast.job(cell).methods[0].settings.get("q") for cell in fast.cells if cell.method == "GCE"} == {0.6}


@pytest.mark.parametrize("name", PAPERS)
def test_what_suits_the_data_changes_nothing_of_a_recipe(name):
    """Standard images have an augmentation of their own, which holds where a recipe says nothing of it."""
    source = paper(name)
    for cell in {cell.data: cell for table in source.tables for cell in source.published(table)}.values():
        augment = source.settings(cell.data, cell.noise, [cell.method], cell.net)["train"]["augment"]
        assert {"mean", "std"} <= set(augment)
        assert set(augment) >= {"flip"} or cell.data == "mnist"
