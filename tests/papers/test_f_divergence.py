import math

import numpy as np
import pytest
import torch

from labelnoise import configure
from labelnoise.config import Job
from labelnoise.data import Dataset
from labelnoise.data.loader import batches
from labelnoise.data.split import split
from labelnoise.engine.optim import factor
from labelnoise.engine.phases import phases, trained_by
from labelnoise.methods import build
from labelnoise.nets import NETS
from labelnoise.noise import parse
from labelnoise.papers import paper
from labelnoise.papers.figures import figures
from labelnoise.results.select import SELECTIONS
from labelnoise.types import DataSpec

PAPER = paper("f_divergence")
CELLS = {(cell.data, cell.noise, cell.method): cell for table in PAPER.tables for cell in PAPER.published(table)}
DIVERGENCES = ("TV", "J-S", "Pearson", "KL", "Jeffrey")

# As printed: means of table 2 less that of CE, highest figures of table 4 less those without correction.
GAPS_ON_CLEAN_DATA = {
    "mnist": {"TV": -0.04, "J-S": -0.07, "KL": -0.17},
    "fashion_mnist": {"TV": -0.40, "J-S": -0.17, "KL": -0.38},
    "cifar10": {"TV": -0.81, "J-S": -1.24, "KL": -3.09},
    "cifar100": {"TV": 0.00, "J-S": -0.13, "KL": -0.23},
}
GAPS_BY_CORRECTION = {
    "sparse:low": {"J-S": -0.26, "Pearson": 0.08, "KL": 0.11, "Jeffrey": -0.10},
    "sparse:high": {"J-S": -20.88, "Pearson": -0.05, "KL": 0.04, "Jeffrey": 0.04},
    "uniform:low": {"J-S": 0.64, "Pearson": -0.12, "KL": -1.34, "Jeffrey": 0.02},
    "uniform:high": {"J-S": -0.18, "Pearson": 0.18, "KL": -0.38, "Jeffrey": 0.13},
}
# Shares of wrong labels, counted in the released files.
WRONG = {
    ("mnist", "sparse:low"): 0.250,
    ("mnist", "sparse:high"): 0.450,
    ("mnist", "uniform:low"): 0.422,
    ("mnist", "uniform:high"): 0.739,
    ("mnist", "random:0.2"): 0.1787,
    ("mnist", "random:0.7"): 0.6277,
    ("fashion_mnist", "sparse:low"): 0.250,
    ("fashion_mnist", "sparse:high"): 0.450,
    ("fashion_mnist", "uniform:low"): 0.423,
    ("fashion_mnist", "uniform:high"): 0.740,
    ("fashion_mnist", "random:0.2"): 0.1785,
    ("fashion_mnist", "random:0.7"): 0.6278,
    ("cifar10", "sparse:low"): 0.2002,
    ("cifar10", "sparse:high"): 0.4017,
    ("cifar10", "uniform:low"): 0.1800,
    ("cifar10", "uniform:high"): 0.5310,
    ("cifar10", "random:0.5"): 0.4490,
    ("cifar10", "random:0.7"): 0.6290,
    ("cifar100", "uniform:low"): 0.2448,
    ("cifar100", "sparse:high"): 0.4027,
    ("cifar100", "random:0.2"): 0.1967,
    ("cifar100", "random:0.5"): 0.4934,
}


def job_of(data, label, noise="none"):
    return configure.build(Job, PAPER.settings(data, noise, [label]))


def stages_of(data, label, noise="none"):
    """Names of the stages with their epochs and the learning rates that occur in each, one after the other."""
    job, named = job_of(data, label, noise), PAPER.method(label, data, noise)
    found = []
    for phase in phases(build(named.name, named.settings), job.train.epochs):
        epochs = phase.end - phase.first
        optimiser, schedule = trained_by(phase.stage, job.train)
        rates = dict.fromkeys(round(optimiser.lr * factor(schedule, epoch, epochs), 12) for epoch in range(epochs))
        found.append((phase.stage.name, epochs, list(rates)))
    return found


def test_the_tables_have_all_their_cells() -> None:
    found = {table: len(PAPER.published(table)) for table in PAPER.tables}
    assert found == {"table2": 16, "table3": 22 * 8, "table4": 16, "table5": 10}
    assert len(CELLS) == sum(found.values())


@pytest.mark.parametrize("data", GAPS_ON_CLEAN_DATA)
def test_means_on_clean_data_differ_from_cross_entropy_by_the_printed_gaps(data) -> None:
    for label, gap in GAPS_ON_CLEAN_DATA[data].items():
        means = [CELLS[data, "none", each].mean for each in (label, "CE")]
        assert means[0] - means[1] == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize("noise", GAPS_BY_CORRECTION)
def test_a_correction_changes_the_highest_figure_by_the_printed_gap(noise) -> None:
    """Without correction they are in table 3 or, of Pearson and Jeffrey, recovered."""
    (recovered,) = PAPER.facts["recovered"]
    for label, gap in GAPS_BY_CORRECTION[noise].items():
        corrected = CELLS["cifar10", noise, f"{label}, corrected"].highest
        known = recovered["highest"].get(label)
        plain = known[noise] if known else CELLS["cifar10", noise, label].highest
        assert corrected - plain == pytest.approx(gap, abs=1e-9)


def test_highest_runs_lie_above_the_mean_as_of_five_runs_and_not_of_four() -> None:
    """None of n is further from the mean than (n - 1) / sqrt(n) sample standard deviations, all figures unrounded."""
    spread = [cell for cell in CELLS.values() if cell.highest is not None]
    assert len(spread) == 16 + 22 * 3 + 16
    assert min(cell.highest - cell.mean for cell in spread) >= 0
    furthest = max((cell.highest - cell.mean - 0.01) / (cell.std + 0.005) for cell in spread)
    assert 3 / math.sqrt(4) < furthest < 4 / math.sqrt(5)


def test_baselines_and_clothing1m_have_a_single_figure() -> None:
    single = [cell for cell in CELLS.values() if cell.std is None]
    assert len(single) == 22 * 5 + 10
    assert {cell.highest for cell in single} == {None}


@pytest.mark.parametrize(("data", "noise"), WRONG)
def test_noise_makes_as_many_labels_wrong_as_the_released_files_have(data, noise) -> None:
    T = parse(noise, 100 if data == "cifar100" else 10, data).T
    assert T.rate() == pytest.approx(WRONG[data, noise], abs=0.004)  # drawn from 50,000 rows, or classes unbalanced


def test_the_noises_of_table_3_are_all_that_were_released() -> None:
    assert {(cell.data, cell.noise) for cell in PAPER.published("table3")} == set(WRONG)


@pytest.mark.parametrize(("data", "noise", "label"), CELLS)
def test_every_cell_can_be_trained(data, noise, label) -> None:
    job = job_of(data, label, noise)
    named = PAPER.method(label, data, noise)
    assert (job.noise, job.methods[0].name) == (noise, named.name)
    classes = {"cifar100": 100, "clothing1m:balanced": 14}.get(data, 10)
    spec = DataSpec((3, 32, 32), classes, 40_000, lambda head: None, job.train.batch)
    build(named.name, named.settings).networks(spec)
    assert job.net.name in NETS


@pytest.mark.parametrize(
    ("data", "rows", "train", "steps"),
    [("mnist", 60_000, 50_000, 390), ("fashion_mnist", 60_000, 50_000, 390)]
    + [(data, 50_000, 40_000, 312) for data in ("cifar10", "cifar100")],
)
def test_an_epoch_has_the_authors_rows_and_one_step_more(data, rows, train, steps) -> None:
    """They leave out the last batch, which is incomplete."""
    y = torch.randint(100 if data == "cifar100" else 10, (rows + 10_000,), generator=torch.Generator().manual_seed(0))
    names, kept = tuple(map(str, range(int(y.max()) + 1))), torch.arange(rows, rows + 10_000)
    dataset = Dataset("unbalanced", torch.zeros(len(y), 1), y, y, names, test=kept)
    job = job_of(data, "TV")
    assert [len(part) for part in split(dataset, job.split, 0)] == [train, 10_000, 10_000]
    assert batches(train, job.train.batch) == (steps + 1, 128)


def test_on_mnist_divergences_are_maximised_from_the_start_at_the_rates_that_the_code_reaches() -> None:
    for data in ("mnist", "fashion_mnist"):
        job = job_of(data, "TV")
        assert stages_of(data, "TV") == [("divergence", 80, [1e-3, 5e-4])]
        assert [factor(job.train.schedule, epoch, 80) for epoch in (0, 20, 21, 79)] == [1, 1, 0.5, 0.5]
        assert (job.net.name, job.train.optimiser.name, job.train.augment.mean) == ("cnn_mnist", "adam", (0.1307,))


@pytest.mark.parametrize("data", ["cifar10", "cifar100"])
def test_on_cifar_divergences_are_maximised_for_100_epochs_after_240_of_cross_entropy(data) -> None:
    warm_up, divergence = stages_of(data, "J-S")
    assert warm_up == ("warm-up", 240, [1e-1, 1e-2, 1e-3, 1e-4])
    assert divergence == ("divergence", 100, [1e-2, 1e-3, 1e-4, 1e-5])


def test_on_cifar_training_is_as_in_the_authors_code() -> None:
    train = job_of("cifar10", "TV").train
    assert (train.optimiser.name, train.optimiser.momentum, train.optimiser.weight_decay) == ("sgd", 0.9, 5e-4)
    assert (train.augment.crop, train.augment.flip, train.augment.rotation) == (4, True, 15)
    assert (train.augment.mean, train.augment.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert job_of("cifar100", "TV").net.name == "preact_resnet18"


@pytest.mark.parametrize("label", ["BLC", "FLC"])
def test_corrections_by_a_matrix_train_twice_as_cross_entropy_does(label) -> None:
    for data in ("mnist", "fashion_mnist", "cifar10", "cifar100", "clothing1m:balanced"):
        ((_, *once),) = stages_of(data, "CE")
        assert [rest for _, *rest in stages_of(data, label)] == [once, once]
    assert once[0] == 10
    assert stages_of("cifar10", "CE") == [("train", 240, [1e-1, 1e-2, 1e-3, 1e-4])]


def test_dmi_is_trained_by_its_own_authors_recipes() -> None:
    assert stages_of("mnist", "DMI") == [("warm-up", 20, [1e-4]), ("determinant", 20, [1e-4])]
    assert stages_of("cifar10", "DMI") == [("warm-up", 120, [1e-1, 1e-2, 1e-3]), ("determinant", 100, [1e-6])]
    assert stages_of("clothing1m:balanced", "DMI") == [("warm-up", 10, [1e-2, 1e-3]), ("determinant", 10, [1e-6])]
    assert [job_of(data, "DMI").train.batch for data in ("mnist", "cifar10", "clothing1m:balanced")] == [128, 256, 256]


@pytest.mark.parametrize(
    ("data", "noise", "alphas"),
    [  # by epoch, of the authors' pieces
        ("mnist", "sparse:low", {120: 0, 210: 0.5, 300: 1}),
        ("cifar10", "sparse:high", {20: 0, 140: 5}),
        ("cifar10", "random:0.7", {20: 0, 140: 2.5}),
        ("cifar100", "sparse:high", {110: 0, 250: 20}),
        ("cifar100", "uniform:low", {99: 0, 101: 0.95, 250: 0.95}),
    ],
)
def test_alpha_of_peer_loss_is_that_of_its_authors_code_where_pieces_end(data, noise, alphas) -> None:
    epochs, named = job_of(data, "PL", noise).train.epochs, PAPER.method("PL", data, noise)
    method = build(named.name, named.settings)
    for epoch, alpha in alphas.items():
        risen = np.clip((epoch / epochs - method.warm_up) / max(method.ramp, 1e-12), 0, 1)
        assert method.alpha * risen == pytest.approx(alpha, abs=0.01)
    assert method.separate


def test_peer_loss_falls_to_the_least_rate_of_its_authors_code() -> None:
    ((_, epochs, rates),) = stages_of("cifar10", "PL", "sparse:low")
    assert (epochs, len(rates), rates[0], rates[-1]) == (300, 8, 0.1, 1e-8)
    assert stages_of("cifar100", "PL", "random:0.2") == [("train", 250, [1e-1, 1e-2, 1e-3])]
    assert stages_of("mnist", "PL", "random:0.2") == [("train", 300, [1e-4])]


def test_a_bias_is_corrected_by_the_kind_of_noise() -> None:
    found = {noise: PAPER.method("KL, corrected", "cifar10", noise) for noise in GAPS_BY_CORRECTION}
    corrections = [build(named.name, named.settings).bias_correction for named in found.values()]
    assert corrections == ["sparse", "sparse", "uniform", "uniform"]


def test_on_clothing1m_ten_epochs_of_cross_entropy_come_first() -> None:
    (_, epochs, rates), (_, *divergence) = stages_of("clothing1m:balanced", "Jeffrey")
    assert (epochs, rates[0], divergence[0], len(divergence[1])) == (10, 2e-3, 30, 6)
    job = job_of("clothing1m:balanced", "Jeffrey")
    assert (job.net.name, job.train.batch, job.train.optimiser.weight_decay) == ("resnet50", 56, 1e-3)


@pytest.mark.parametrize("label", DIVERGENCES)
def test_divergences_meet_inputs_and_labels_of_two_other_batches(label) -> None:
    for data in ("mnist", "cifar10", "cifar100", "clothing1m:balanced"):
        named = PAPER.method(label, data, "none")
        assert build(named.name, named.settings).peers == 2


def test_the_epoch_is_the_one_selected_on_noisy_validation() -> None:
    assert PAPER.facts["protocol"]["reported"] == "selected"
    assert "selected" in {rule.name for rule in SELECTIONS}


def test_figure_1_can_be_trained_at_ten_levels_up_to_81_per_cent_of_wrong_labels() -> None:
    (figure,) = figures(PAPER).values()
    rates = [parse(noise, 10, "cifar10").rate for noise in dict.fromkeys(cell.noise for cell in figure.cells)]
    assert rates == pytest.approx([0.09 * level for level in range(10)])
    for cell in figure.cells:
        job_of(cell.data, cell.method, cell.noise)
