import pytest

from labelnoise import configure
from labelnoise.config import Job
from labelnoise.methods import build
from labelnoise.papers import paper

PAPER = paper("causal_nl")
NOISE = "instance:0.2"
CELLS = [cell for table in PAPER.tables for cell in PAPER.published(table)]


def test_the_tables_have_all_their_cells() -> None:
    found = {table: len(PAPER.published(table)) for table in PAPER.tables}
    assert found == {"table1": 45, "table2": 45, "table3": 45, "table4": 45, "table5": 8}


def test_what_is_printed_in_bold_is_the_best_of_its_column() -> None:
    for data, noise in {(cell.data, cell.noise) for cell in CELLS}:
        column = [cell for cell in CELLS if (cell.data, cell.noise) == (data, noise)]
        best = max(column, key=lambda cell: cell.mean)
        assert [cell for cell in column if cell.best] == [best]


def test_single_runs_have_no_spread() -> None:
    assert {cell.std for cell in PAPER.published("table5")} == {None}


@pytest.mark.parametrize("label", PAPER.facts["methods"])
def test_every_method_can_be_trained_on_every_data_set(label) -> None:
    for data, noise in {("moon", "instance:0.45")} | {(cell.data, cell.noise) for cell in CELLS}:
        named = PAPER.method(label, data, noise)
        build(named.name, named.settings)
        job = configure.build(Job, PAPER.settings(data, noise, [label]))
        assert job.methods[0].name == named.name


def test_methods_are_trained_by_their_own_recipes() -> None:
    found = {
        label: configure.build(Job, PAPER.settings("cifar10", "instance:0.2", [label])) for label in ("CE", "Mixup")
    }
    assert [(job.train.epochs, job.train.optimiser.lr) for job in found.values()] == [(100, 0.01), (200, 0.1)]
    teaching = configure.build(
        Job, PAPER.settings("cifar10", "instance:0.2", ["Co-teaching", "MentorNet", "Decoupling"])
    )
    assert (teaching.train.epochs, teaching.train.schedule.start, teaching.train.schedule.beta1) == (200, 80, 0.1)


def test_on_moon_causal_nl_has_a_classifier_of_its_own() -> None:
    nets = [PAPER.recipe("moon", label)["net"]["name"] for label in ("CE", "CausalNL")]
    assert nets == ["mlp", "mlp_moon"]
    expected = {"preset": "paper", "latent": 1, "ramp": 75}
    assert PAPER.method("CausalNL", "moon", "instance:0.45").settings == expected


def test_in_less_time_the_ramp_of_causal_nl_on_moon_takes_the_same_share_of_epochs() -> None:
    found = [
        PAPER.method("CausalNL", "moon", "instance:0.45", fast=fast).settings["ramp"]
        / PAPER.recipe("moon", "CausalNL", fast=fast)["train"]["epochs"]
        for fast in (False, True)
    ]
    assert found == [0.25, 0.25]


def test_on_moon_nothing_but_the_plain_optimiser_is_left_of_other_recipes() -> None:
    job = configure.build(Job, PAPER.settings("moon", "instance:0.45", ["Co-teaching"]))
    assert (job.train.schedule.name, job.train.schedule.beta1) == ("constant", 0)


def test_on_clothing1m_causal_nl_has_fewer_epochs_and_a_rate_that_nothing_could_tell_it() -> None:
    job = configure.build(Job, PAPER.settings("clothing1m", "none", ["CausalNL"]))
    assert (job.train.epochs, job.train.batch, job.train.optimiser.lr) == (40, 16, 1e-3)
    assert (job.methods[0].settings["forget"], job.methods[0].settings["latent"]) == (0.4, 100)


@pytest.mark.parametrize(
    ("data", "net"),
    [("fashion_mnist", "resnet18"), ("svhn", "resnet34"), ("cifar10", "resnet34"), ("cifar100", "resnet50")],
)
def test_images_have_the_backbone_and_augmentation_of_the_paper_at_a_constant_rate(data, net) -> None:
    job = configure.build(Job, PAPER.settings(data, NOISE, ["CausalNL"]))
    assert (job.net.name, job.net.settings["stem"]) == (net, "imagenet")
    augment = job.train.augment
    assert (augment.crop, augment.flip != augment.upside_down, augment.mean) == (4, True, ())
    assert (job.train.schedule.name, job.train.optimiser.lr, job.train.epochs, job.train.batch) == (
        "constant",
        1e-3,
        150,
        128,
    )


@pytest.mark.parametrize("data", ["fashion_mnist", "cifar10"])
def test_flips_are_upside_down_where_the_authors_code_lays_images_on_their_side(data) -> None:
    augment = configure.build(Job, PAPER.settings(data, NOISE, ["CausalNL"])).train.augment
    assert (augment.flip, augment.upside_down) == (data != "fashion_mnist", data == "fashion_mnist")


@pytest.mark.parametrize("method", ["CE", "Co-teaching", "CausalNL as printed"])
def test_other_methods_have_plain_flips(method) -> None:
    augment = configure.build(Job, PAPER.settings("fashion_mnist", NOISE, [method])).train.augment
    assert (augment.flip, augment.upside_down) == (True, False)


def test_five_seeds_are_run_at_five_rates() -> None:
    assert PAPER.facts["protocol"]["seeds"] == 5
    for table in ("table1", "table2", "table3", "table4"):
        assert {cell.noise for cell in PAPER.published(table)} == {
            f"instance:{rate}" for rate in (0.2, 0.3, 0.4, 0.45, 0.5)
        }
