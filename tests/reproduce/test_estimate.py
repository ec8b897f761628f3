from dataclasses import replace

import pytest
import torch

from labelnoise.config import Job, Named, Split, Train
from labelnoise.data.split import split
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.engine.observer import EpochResult
from labelnoise.papers import paper
from labelnoise.papers.paper import papers
from labelnoise.reproduce import estimate as module
from labelnoise.reproduce.estimate import like, rate, rows, seconds, spoken
from labelnoise.reproduce.groups import groups
from labelnoise.speed import blocks

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("total", "words"),
    [(0.2, "1 second"), (90, "90 seconds"), (600, "10 minutes"), (9000, "2 hours"), (1e6, "12 days"), (1e8, "3 years")],
)
def test_a_time_is_told_in_a_unit_of_its_size(total, words):
    assert spoken(total) == words


@pytest.mark.parametrize(
    ("data", "job", "expected"),
    [
        ("mnist", Job(split=Split(0.08, 0.2, rows=50_000)), 45_000),
        ("cifar10n:worst", Job(split=Split(0.08, 0.2)), 45_000),
        ("digits", Job(), 0.7 * 1797),
        ("moons", Job(split=Split(0.1, 0.4, rows=400)), 200),
        ("clothing1m:balanced", Job(), 7 / 8 * 14 * 18_976),
        ("clothing1m", Job(train=Train(balanced=18_976)), 14 * 18_976),
    ],
)
def test_rows_of_an_epoch_are_what_split_and_balance_leave(data, job, expected):
    assert rows(data, job) == pytest.approx(expected, abs=1)


def test_time_is_that_of_all_images_that_networks_see(tiny, monkeypatch):
    monkeypatch.setattr(module, "rate", lambda data, job, device: 1000.0)
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    assert seconds(group, group.trained(3), CPU) == pytest.approx(0.7 * 1797 * 2 * 3 * 4 / 1000, rel=1e-3)


def test_two_networks_take_twice_the_time(monkeypatch):
    monkeypatch.setattr(module, "rate", lambda data, job, device: 1000.0)
    source = paper("causal_nl")
    cells = [cell for cell in source.published("table1") if cell.noise == "instance:0.2"]
    alone = {cell.method: groups(source, [cell], "paper")[0] for cell in cells}
    by_method = {method: seconds(group, group.trained(1), CPU) for method, group in alone.items()}
    assert by_method["Co-teaching"] == pytest.approx(2 * 54_000 * 200 / 1000)
    assert by_method["CE"] == pytest.approx(54_000 * 100 / 1000)


def test_a_network_is_timed_on_data_of_the_same_shape_that_need_not_be_there():
    source = paper("logistic_normal")
    group, *_ = groups(source, [cell for cell in source.published("table1") if cell.data == "mnist"], "paper")
    assert rate("mnist", group.job(group.cells[0]), CPU) > 1


DATA = {data for name in papers() for each in paper(name).facts["recipes"] for data in each["for"]}


@pytest.mark.parametrize("data", sorted(data for data in DATA if data.partition(":")[0] in CARDS))
def test_rows_that_are_made_up_suffice_for_every_part_of_a_split(data):
    made_up = like(data, (1, 1, 1), CARDS[data.partition(":")[0]].classes, batch=16)
    assert all(map(len, split(made_up, Split(), seed=0)))


def test_a_network_of_a_thousand_classes_is_timed(monkeypatch):
    monkeypatch.setitem(CARDS, "imagenet", replace(CARDS["imagenet"], shape=(3, 8, 8)))
    monkeypatch.setattr(module, "SECONDS", 0.01)
    assert rate("imagenet", Job(net=Named("mlp"), train=Train(batch=3500)), CPU) > 1


def test_data_that_are_made_on_the_spot_are_timed_by_whole_epochs_as_they_are_trained(monkeypatch):
    seen = []

    def timed(config, dataset, runs, device):
        seen.append((config.train.batch, config.split.rows, len(dataset)))
        return 7.0

    monkeypatch.setattr(module, "_timed", timed)
    rate("moons", Job(train=Train(batch=10_000), split=Split(0.1, 0.4, rows=400)), CPU)
    assert seen == [(10_000, 400, 2000)]


@pytest.mark.parametrize(("data", "batch"), [("mnist", 256), ("cifar10", 170), ("clothing1m", 16)])
def test_on_a_cpu_small_images_are_timed_in_batches_as_they_are_trained_and_large_ones_in_fewer(
    data, batch, monkeypatch
):
    seen = []
    monkeypatch.setattr(module, "_timed", lambda config, dataset, runs, device: seen.append(config.train.batch) or 7.0)
    rate(data, Job(train=Train(batch=256)), CPU)
    assert seen == [batch]


def test_an_epoch_takes_what_the_median_epoch_took_after_the_first_ones(monkeypatch):
    moments = iter([0.0, 8.0, 9.0, 10.5, 14.5])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(moments))
    watch = module.Epochs(CPU, seconds=12)
    for epoch in range(4):
        watch.finished_epoch(EpochResult("", epoch, {}, {}))
    with pytest.raises(blocks.EnoughError):
        watch.finished_epoch(EpochResult("", 4, {}, {}))
    assert watch.epoch_seconds == 1.5  # of 1, 1.5 and 4


@pytest.mark.parametrize(("data", "net"), [("mnist", "lenet5"), ("digits", "mlp")])
def test_batches_as_large_as_on_a_gpu_and_a_probe_as_long_leave_epochs_enough_steps(data, net, monkeypatch):
    monkeypatch.setitem(module.BATCH, "cpu", module.BATCH["cuda"])
    monkeypatch.setitem(blocks.PROBE, "cpu", blocks.PROBE["cuda"])
    monkeypatch.setattr(module, "SECONDS", 0.1)
    assert rate(data, Job(net=Named(net), train=Train(batch=512)), CPU) > 1


def test_where_many_runs_do_not_fit_one_is_timed(monkeypatch):
    tried = []

    def timed(config, dataset, runs, device):
        tried.append(runs)
        if runs > 1:
            raise torch.OutOfMemoryError
        return 7.0

    monkeypatch.setattr(module, "_timed", timed)
    monkeypatch.setitem(module.SIDE_BY_SIDE, "cpu", 16)
    assert (rate("mnist", Job(), CPU), tried) == (7.0, [16, 1])
