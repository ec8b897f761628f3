from dataclasses import dataclass

import pytest
import torch
from torch import nn

from labelnoise.config import Optimiser
from labelnoise.data.dataset import Dataset
from labelnoise.data.loader import Loader, Task
from labelnoise.data.split import Splits
from labelnoise.engine import examine
from labelnoise.engine.examine import examined
from labelnoise.engine.executors import EXECUTORS
from labelnoise.methods.base import Method, hyper
from labelnoise.methods.ce import CE
from labelnoise.types import DataSpec


@dataclass(frozen=True)
class Sums(Method):
    """Finds the sum of an input, a multiple of its label, and an estimate."""

    factor: float = hyper(1.0, low=0.0, high=9.0)

    def examine(self, nets, batch, ctx):
        return {"sum": batch.x.sum(-1), "label": self.factor * batch.y + ctx.aux["base"], "row": batch.rows}


def scene(methods, executor="streams", *, truth=True):
    x, given = torch.arange(60.0).reshape(30, 2), torch.arange(30) % 3
    data = Dataset("made up", x, given, (given + (torch.arange(30) < 5)) % 3 if truth else None, tuple("abc"))
    parts = Splits(*torch.arange(30).split([20, 5, 5]))
    loader = Loader([Task(data, parts, seed) for seed in (0, 1)])
    spec = DataSpec((2,), 3, loader.samples, lambda head: nn.Linear(2, head))
    runner = EXECUTORS[executor](methods, spec, (0, 1), torch.zeros(()))
    runner.enter(0, Optimiser())
    runner.set_aux({"base": torch.tensor([0.5, 0.25])})
    return runner, loader


@pytest.mark.parametrize("rows", [256, 7])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_numbers_are_those_of_the_method_for_each_run(executor, rows, monkeypatch):
    monkeypatch.setattr(examine, "TOGETHER", rows)
    found = examined(*scene([Sums(1.0), Sums(3.0)], executor))
    sums, labels = torch.arange(60.0).reshape(30, 2).sum(1)[:20], torch.arange(20) % 3
    torch.testing.assert_close(found["examined_sum"], sums.expand(2, 20))
    expected = torch.stack([labels + 0.5, 3 * labels + 0.25])
    torch.testing.assert_close(found["examined_label"], expected, check_dtype=False)
    assert found["examined_wrong"].tolist() == [[True] * 5 + [False] * 15] * 2


def test_of_many_rows_an_even_share_is_kept(monkeypatch):
    monkeypatch.setattr(examine, "MOST", 7)
    found = examined(*scene([Sums(), Sums()]))
    assert found["examined_sum"][0].tolist() == [4.0 * row + 1 for row in range(0, 20, 3)]
    assert found["examined_row"][0].tolist() == list(range(0, 20, 3))
    assert found["examined_wrong"][0].tolist() == [True, True, False, False, False, False, False]


def test_without_the_truth_nothing_is_called_wrong():
    assert set(examined(*scene([Sums(), Sums()], truth=False))) == {
        "examined_sum",
        "examined_label",
        "examined_row",
    }


def test_most_methods_find_nothing():
    assert examined(*scene([CE(), CE()])) == {}


@dataclass(frozen=True)
class Ranks(Method):
    """Compares the rows that it is shown together."""

    def examine(self, nets, batch, ctx):
        return {"rank": batch.x[:, 0].argsort().argsort()}


@pytest.mark.parametrize("runs", [1, 9])
def test_rows_are_shown_together_whatever_the_number_of_runs(runs, monkeypatch):
    monkeypatch.setattr("labelnoise.engine.evaluate.NUMBERS", {"cpu": 60})  # what a prediction may take at once
    monkeypatch.setattr(examine, "TOGETHER", 8)
    data = Dataset("made up", torch.arange(60.0).reshape(30, 2), torch.arange(30) % 3, None, tuple("abc"))
    tasks = [Task(data, Splits(*torch.arange(30).split([20, 5, 5])), seed) for seed in range(runs)]
    spec = DataSpec((2,), 3, 20, lambda head: nn.Linear(2, head))
    runner = EXECUTORS["packed"]([Ranks()] * runs, spec, tuple(range(runs)), torch.zeros(()))
    runner.enter(0, Optimiser())
    found = examined(runner, Loader(tasks))["examined_rank"]
    assert found.tolist() == [[*range(8), *range(8), *range(4)]] * runs
