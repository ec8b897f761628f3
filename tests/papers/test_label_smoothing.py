from dataclasses import replace
from typing import Any

import pytest
import torch

from labelnoise import configure
from labelnoise.config import Job
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import batches
from labelnoise.data.split import split
from labelnoise.engine.phases import phases
from labelnoise.methods import build
from labelnoise.nets import NETS
from labelnoise.noise import parse
from labelnoise.papers import paper
from labelnoise.papers.figures import figures

PAPER = paper("label_smoothing")
NOISE = "symmetric:0.2"
CELLS = [(table, cell) for table in PAPER.tables for cell in PAPER.published(table)]
FIGURES = figures(PAPER)


def means(table: str, **where: str) -> dict[str, float]:
    """By method, of the cells with these entries."""
    return {
        cell.method: cell.mean
        for cell in PAPER.published(table)
        if all(getattr(cell, key) == value for key, value in where.items())
    }


def method(label: str) -> Any:
    named = PAPER.method(label, "cifar10", NOISE)
    return build(named.name, named.settings)


def job(data: str, label: str, net: str = "") -> Job:
    return configure.build(Job, PAPER.settings(data, NOISE, [label], net))


def steps_of(data: str, classes: int) -> int:
    """The steps of an epoch, when 50,000 rows are split by the recipe."""
    labels, made = torch.arange(60_000) % classes, job(data, "CE")
    every = Dataset.from_arrays(torch.zeros(len(labels), 1), labels)
    parts = split(replace(every, test=torch.arange(50_000, 60_000)), made.split, seed=0)
    return batches(len(parts.train), made.train.batch)[0]


def test_the_tables_have_all_their_cells() -> None:
    found = {table: len(PAPER.published(table)) for table in PAPER.tables}
    assert found == {"table2": 10, "table3": 12, "table4": 9, "table5": 20, "table7": 24}


def test_no_cell_is_there_twice() -> None:
    places = [(table, cell.data, cell.method, cell.net, cell.measure) for table, cell in CELLS]
    assert len(set(places)) == len(places)


def test_a_fifth_of_the_labels_is_wrong_and_not_a_fifth_redrawn_among_all_classes() -> None:
    """Table 3: accuracy on all rows is the mean of both parts, each printed to within 0.005."""
    for label in ("LS 0.0", "LS 0.1", "LS 0.2"):
        full, clean, wrong = (
            means("table3", measure=f"train/{name}")[label]
            for name in ("accuracy_true", "clean_accuracy", "wrong_accuracy_true")
        )
        flipped, redrawn = (
            1 - parse(noise, 100, "cifar100").T.probs.diagonal().mean().item() for noise in (NOISE, "random:0.2")
        )
        assert (1 - flipped) * clean + flipped * wrong == pytest.approx(full, abs=0.01)
        assert (1 - redrawn) * clean + redrawn * wrong != pytest.approx(full, abs=0.05)


def test_every_cell_has_noise_of_that_rate() -> None:
    assert {cell.noise for _, cell in CELLS} == {NOISE}


def test_alpha_0_is_one_training_whatever_it_is_the_alpha_of() -> None:
    assert {means("table2")[label] for label in ("LS 0.0", "FC 0.0")} == {70.86}
    assert {means("table4")[label] for label in ("LS 0.0", "FC 0.0", "BC 0.0")} == {11.1}
    assert {method(f"{family} 0.0") for family in ("LS", "FC", "BC")} == {method("CE")}


def test_calibration_is_in_per_cent_as_all_cells_are() -> None:
    assert min(cell.mean for _, cell in CELLS) > 1  # the error as a fraction is nowhere above 1
    assert {cell.measure for cell in PAPER.published("table4")} == {"test/ece_100"}


def test_calibration_is_better_than_without_alpha_for_a_little_smoothing_alone() -> None:
    found = means("table4")
    assert [label for label, error in found.items() if error < found["LS 0.0"]] == ["LS 0.1"]


@pytest.mark.parametrize("net", ["resnet32", "resnet56"])
def test_vanilla_distillation_on_cifar10_has_the_figures_of_no_distillation(net) -> None:
    vanilla, plain = (
        means(table, data="cifar10", net=net)[label] for table, label in (("table5", "vanilla"), ("table7", "CE"))
    )
    assert vanilla == plain
    assert any("hardly of a distilled student" in each for each in PAPER.facts["deviations"])


@pytest.mark.parametrize("data", ["cifar10", "cifar100"])
@pytest.mark.parametrize("net", ["resnet32", "resnet56"])
def test_smoothing_is_better_than_nothing_by_itself_and_on_a_teacher(data, net) -> None:
    alone, taught = (means(table, data=data, net=net) for table in ("table7", "table5"))
    assert alone["LS 0.1"] > alone["CE"]
    assert min(taught["LS on teacher"], taught["FC on teacher"]) > taught["vanilla"]


def test_spreads_are_printed_where_five_runs_are_compared() -> None:
    assert {table for table, cell in CELLS if cell.std is None} == {"table2", "table3", "table4"}
    assert PAPER.facts["protocol"]["seeds"] == 5


@pytest.mark.parametrize(("table", "cell"), CELLS, ids=lambda each: each if isinstance(each, str) else each.method)
def test_every_cell_can_be_trained(table, cell) -> None:
    made = job(cell.data, cell.method, cell.net)
    build(made.methods[0].name, made.methods[0].settings)
    expected = cell.net or {"imagenet": "resnet50_v2", "cifar100": "resnet32"}[cell.data]
    assert (made.data.source, made.noise, made.net.name, made.seeds) == (cell.data, NOISE, expected, 5)
    assert made.net.name in NETS


def test_no_method_lacks_its_length_on_cifar() -> None:
    named = [label for each in PAPER.facts["training"] for label in each["methods"]]
    assert sorted(named) == sorted(PAPER.facts["methods"])


@pytest.mark.parametrize(
    "label", [f"{family} {alpha}" for family in ("LS", "FC", "BC") for alpha in (0.1, 0.2, 0.4, 0.6)]
)
def test_alpha_is_that_of_the_name(label) -> None:
    family, alpha = label.split()
    made = method(label)
    assert (made.name, made.alpha) == (
        {"LS": "label_smoothing", "FC": "forward", "BC": "backward"}[family],
        float(alpha),
    )


@pytest.mark.parametrize("label", ["FC 0.2", "BC 0.2"])
def test_corrections_know_a_matrix_that_redraws_a_share_of_alpha(label) -> None:
    expected = 0.8 * torch.eye(10, dtype=torch.float64) + 0.2 / 10
    torch.testing.assert_close(method(label).known(10), expected)
    assert [stage.name for stage in method(label).stages()] == ["corrected"]


def test_patrinis_matrix_is_estimated_with_outliers_in_a_thousand_left_out() -> None:
    for label in ("FC Patrini", "BC Patrini"):
        assert (method(label).matrix, method(label).quantile) == ("estimated", 0.999)


def test_negative_losses_of_backward_correction_are_left_as_they_are() -> None:
    backward = [method(label) for label in PAPER.facts["methods"] if label.startswith("BC") and label != "BC 0.0"]
    assert len(backward) == 5
    assert {each.fix for each in backward} == {"none"}


@pytest.mark.parametrize(
    ("label", "teacher", "alpha", "on_student"),
    [
        ("vanilla", "ce", None, "none"),
        ("LS on teacher", "label_smoothing", 0.1, "none"),
        ("FC on teacher", "forward", 0.1, "none"),
        ("LS on student", "ce", None, "smoothing"),
        ("FC on student", "ce", None, "forward"),
    ],
)
def test_teachers_and_students_are_those_of_the_name(label, teacher, alpha, on_student) -> None:
    made = method(label)
    taught = made.stages()[0].method.inner
    assert (taught.name, getattr(taught, "alpha", None)) == (teacher, alpha)
    assert (made.on_student, made.alpha, made.temperature) == (on_student, 0.1, 2)


@pytest.mark.parametrize("label", PAPER.facts["methods"])
def test_every_network_of_a_method_is_trained_by_the_whole_recipe(label) -> None:
    whole = job("cifar10", "CE").train.epochs
    epochs = job("cifar10", label).train.epochs
    assert {phase.end - phase.first for phase in phases(method(label), epochs)} == {whole}


@pytest.mark.parametrize(("data", "classes"), [("cifar10", 10), ("cifar100", 100)])
def test_rates_fall_at_32_and_48_of_64_thousand_steps_to_within_a_fifth_of_an_epoch(data, classes) -> None:
    train, steps = job(data, "CE").train, steps_of(data, classes)
    found = [steps * epoch for epoch in (*train.schedule.milestones, train.epochs)]
    assert found == pytest.approx([32_000, 48_000, 64_000], abs=steps / 5)
    assert (train.schedule.name, train.schedule.gamma, train.batch) == ("step", 0.1, 128)


def test_imagenet_has_the_steps_of_the_paper_to_within_half_an_epoch() -> None:
    made = job("imagenet", "LS 0.1")
    rows = 1_281_167 * (1 - made.split.validation / (1 - made.split.test))
    steps, _ = batches(round(rows), made.train.batch)
    assert steps * made.train.epochs == pytest.approx(32_768, abs=steps / 2)
    assert (made.train.batch, made.train.optimiser.name) == (3500, "lars")


def test_cifar_is_trained_by_nesterovs_momentum_with_crops_and_flips() -> None:
    train = job("cifar100", "FC 0.1").train
    optimiser = train.optimiser
    assert (optimiser.name, optimiser.lr, optimiser.momentum, optimiser.nesterov, optimiser.weight_decay) == (
        "sgd",
        0.1,
        0.9,
        True,
        1e-4,
    )
    assert (train.augment.crop, train.augment.flip) == (4, True)


@pytest.mark.parametrize("name", FIGURES)
def test_every_cell_of_a_figure_can_be_trained(name) -> None:
    for cell in FIGURES[name].cells:
        made = configure.build(Job, PAPER.settings(cell.data, cell.noise, [cell.method], cell.net))
        build(made.methods[0].name, made.methods[0].settings)
        assert made.net.name == (cell.net or "mlp")


def test_students_of_figure_6_have_teachers_of_every_alpha_at_temperature_1() -> None:
    found = [method(cell.method) for cell in FIGURES["fig6"].cells]
    taught = [each.stages()[0].method.inner for each in found]
    assert [getattr(teacher, "alpha", 0.0) for teacher in taught] == [0.0, 0.1, 0.2, 0.4, 0.6]
    assert {each.temperature for each in found} == {1.0}


def test_the_lines_of_figure_5_are_of_a_linear_network() -> None:
    assert job("gaussians", "LS 0.1").net.settings == {"widths": "none"}
