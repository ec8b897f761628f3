import pytest

from labelnoise.comparing import make_plan
from labelnoise.config import Named
from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.papers import paper
from labelnoise.reproduce.groups import Group, groups, trainings
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
    assert (len(group.cells), len(group.trained(seeds=1))) == (12, 3)


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


def test_a_search_has_a_run_for_each_point_and_the_best_goes_on_with_the_other_seeds():
    source = paper("logistic_normal")
    cells = [cell for cell in source.published("table1") if cell.data == "mnist"]
    together, forward = groups(source, cells, "paper-search")  # which is trained differently
    points = {"Het-τ": 5, "Het-τ-Σfull": 5 * 3, "Bi-tempered": 3 * 3, "NAN": 5, "GCE": 5, "LN": 3 * 3}
    searched, others, noises = sum(points.values()), ("CE", "Forward", "Het"), 9
    assert (together.tried, forward.tried) == (noises * searched, 0)
    runs = sum(runs for group in (together, forward) for _, runs in group.trained(5))
    assert runs == noises * (searched + 4 * len(points) + 5 * len(others))


def test_without_a_search_runs_are_methods_times_noises_times_seeds(tiny):
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    assert (group.tried, sum(runs for _, runs in group.trained(3))) == (0, 2 * 2 * 3)


@pytest.mark.parametrize(("recipe", "epochs"), [("paper-search", 2), ("fast-search", 1)])
def test_a_search_tries_every_value_under_the_recipe(tiny, recipe, epochs):
    (group,) = groups(tiny, tiny.published("table1"), recipe)
    for cell in group.cells:
        tried = [Named("gce", {"q": q}) for q in (0.4, 0.6, 0.8)] if cell.method == "GCE" else [Named("ce")]
        assert group.points(cell) == tried
        assert group.job(cell).train.epochs == epochs


def test_all_points_of_a_method_under_all_noises_share_a_pack(tiny):
    (group,) = groups(tiny, [cell for cell in tiny.published("table1") if cell.method == "GCE"], "paper-search")
    runs = trainings(group, 1, {cell: group.points(cell) for cell in group.cells})
    assert [len(pack.configs) for pack in plan_packs(runs.configs)] == [2 * 3]


def test_of_the_points_one_is_what_the_authors_chose():
    source = paper("logistic_normal")
    for cell in source.published("table2"):
        literal, searched = (Group(source, recipe, (cell,)) for recipe in ("paper", "paper-search"))
        chosen, tried = ([build(m.name, m.settings) for m in each.points(cell)] for each in (literal, searched))
        assert chosen[0] in tried


@pytest.mark.parametrize(
    ("name", "methods", "sentence"),
    [
        ("causal_nl", ["CE", "CausalNL"], r"causal_nl has no grid for CE, CausalNL \(chosen: nothing is searched\)"),
        ("logistic_normal", ["CE", "Het"], "logistic_normal has no grid for CE, Het .*; leave out --search"),
    ],
)
def test_a_search_of_what_has_no_grid_is_refused(name, methods, sentence):
    cells = [cell for cell in paper(name).published("table1") if cell.method in methods]
    with pytest.raises(InputError, match=sentence):
        groups(paper(name), cells, "paper-search")


@pytest.mark.parametrize("name", PAPERS)
def test_what_suits_the_data_changes_nothing_of_a_recipe(name):
    """Standard images have an augmentation of their own, which holds where a recipe says nothing of it."""
    source = paper(name)
    for cell in {cell.data: cell for table in source.tables for cell in source.published(table)}.values():
        augment = source.settings(cell.data, cell.noise, [cell.method], cell.net)["train"]["augment"]
        assert {"mean", "std"} <= set(augment)
        assert set(augment) >= {"flip"} or cell.data == "mnist"
