import pytest
import torch

from labelnoise.config import Job, Named, Split, Train
from labelnoise.papers import paper
from labelnoise.reproduce import estimate as module
from labelnoise.reproduce.estimate import rate, rows, seconds, spoken
from labelnoise.reproduce.groups import groups
from labelnoise.speed import blocks

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("total", "words"),
    [(0.2, "1 seconds"), (90, "90 seconds"), (600, "10 minutes"), (9000, "2 hours"), (1e6, "12 days")],
)
def test_a_time_is_told_in_a_unit_of_its_size(total, words):
    assert spoken(total) == words


@pytest.mark.parametrize(
    ("data", "job", "expected"),
    [
        ("mnist", Job(split=Split(0.08, 0.2, rows=50_000)), 45_000),
        ("cifar10n:worst", Job(split=Split(0.08, 0.2)), 45_000),
        ("digits", Job(), 0.7 * 1797),
        ("clothing1m:balanced", Job(), 7 / 8 * 14 * 18_976),
        ("clothing1m", Job(train=Train(balanced=18_976)), 14 * 18_976),
    ],
)
def test_rows_of_an_epoch_are_what_split_and_balance_leave(data, job, expected):
    assert rows(data, job) == pytest.approx(expected, abs=1)


def test_time_is_that_of_all_images_that_networks_see(tiny, monkeypatch):
    monkeypatch.setattr(module, "rate", lambda data, job, device: 1000.0)
    (group,) = groups(tiny, tiny.published("table1"), "paper")
    assert seconds(group, 3, CPU) == pytest.approx(0.7 * 1797 * 2 * 3 * 4 / 1000, rel=1e-3)


def test_two_networks_take_twice_the_time(monkeypatch):
    monkeypatch.setattr(module, "rate", lambda data, job, device: 1000.0)
    source = paper("causal_nl")
    cells = [cell for cell in source.published("table1") if cell.noise == "instance:0.2"]
    by_method = {cell.method: seconds(groups(source, [cell], "paper")[0], 1, CPU) for cell in cells}
    assert by_method["Co-teaching"] == pytest.approx(2 * 54_000 * 200 / 1000)
    assert by_method["CE"] == pytest.approx(54_000 * 100 / 1000)


def test_a_network_is_timed_on_data_of_the_same_shape_that_need_not_be_there():
    source = paper("logistic_normal")
    group, *_ = groups(source, [cell for cell in source.published("table1") if cell.data == "mnist"], "paper")
    assert rate("mnist", group.job(group.cells[0]), CPU) > 1


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
