import numpy as np
import pytest
import torch

from labelnoise.data.standard import cache
from labelnoise.data.standard.catalogue import CARDS
from labelnoise.noise import symmetric
from labelnoise.speed import supply
from labelnoise.speed.cases import Bench


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    for name, size in {"LABELS": 1000, "LOOPED": 50, "PICTURES": 200, "PIXELS": 12}.items():
        monkeypatch.setattr(supply, name, size)
    return Bench(torch.device("cpu"), 0.0, rows=2000)


def test_the_loop_over_rows_makes_as_many_labels_wrong_as_asked():
    y = np.arange(4000) % 10
    wrong = supply.by_hand(y, np.asarray(symmetric(10, 0.4)), np.random.default_rng(0)) != y
    assert abs(wrong.mean() - 0.4) < 4 * (0.24 / 4000) ** 0.5


def test_noise_has_rates_by_kind(bench):
    figures = {figure.name: figure for figure in supply.noise(bench)}
    assert list(figures) == ["symmetric", "instance"]
    assert all(figure.value > 0 and figure.unit == "labels/s" for figure in figures.values())
    assert figures["symmetric"].ratios["a loop over rows"] > 0


def test_a_data_set_that_is_not_there_is_left_out_with_a_sentence(bench):
    figure = next(iter(supply.data(bench)))
    assert (figure.name, figure.value) == ("load mnist", None)
    assert "labelnoise data fetch mnist" in figure.note


def test_a_data_set_is_read_and_checked_each_time(bench, monkeypatch):
    card, read = CARDS["mnist"], []
    cache.save(card, {"x": [np.zeros((9, 1, 28, 28), np.uint8)], "y": [np.zeros(9, np.int64)]}, {})
    restore = cache._restore
    monkeypatch.setattr(cache, "_restore", lambda *given: read.append(given[1]) or restore(*given))
    figure = next(iter(supply.data(bench)))
    assert (figure.name, figure.unit) == ("load mnist", "s")
    assert read == ["x.npy", "y.npy"] * 4  # a round that does not count, and three that do


def test_batches_have_rates_beside_those_of_a_dataloader(bench):
    served = {figure.name: figure for figure in supply.data(bench) if figure.unit == "images/s"}
    assert list(served) == ["DataLoader, mnist", "loader, mnist", "DataLoader, cifar10", "loader, cifar10"]
    for name in ("mnist", "cifar10"):
        own, plain = served[f"loader, {name}"], served[f"DataLoader, {name}"]
        assert own.ratios["DataLoader"] == pytest.approx(own.value / plain.value)
