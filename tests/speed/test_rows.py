import math

import pytest
import torch

from labelnoise.config import Named
from labelnoise.methods import METHODS
from labelnoise.speed import rows
from labelnoise.speed.cases import Bench, Case
from labelnoise.speed.rows import ROWS, briefly, chosen_only, closely

SMALL = Case("mnist", Named("mlp", {"widths": "8"}), 64, runs=3, few=(3, 64))
CLOSELY = ["ce", "gce", "logistic_normal", "f_divergence", "co_teaching", "causal_nl"]


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))
    monkeypatch.setattr(rows, "plain_rate", lambda *_: (1000.0, ""))
    return Bench(torch.device("cpu"), 0.01, rows=2000)


@pytest.mark.parametrize("name", [f"{net}-{method}" for net in ("lenet5", "wrn_28_2") for method in CLOSELY])
def test_two_networks_have_a_row_for_each_of_six_methods(name):
    assert name in ROWS


def test_every_method_has_a_row():
    assert {name.removeprefix("lenet5-") for name in ROWS if name.startswith("lenet5-")} == set(METHODS)


@pytest.mark.parametrize(
    "name", ["resnet34", "lenet5_same", "mnist", "cifar10", "host", "start", "losses", "noise", "data"]
)
def test_there_are_rows_for_what_is_no_method(name):
    assert ROWS[name].about


@pytest.mark.parametrize(("name", "data"), [("lenet5_same", "mnist"), ("mnist", "mnist"), ("cifar10", "cifar10")])
def test_rows_of_real_data_need_them(name, data):
    assert ROWS[name].needs == data


def test_methods_are_in_their_default_form_but_for_one_with_fewer_samples():
    settings = {name: row.measure.args[1].settings for name, row in ROWS.items() if name.startswith(("lenet5-", "wrn"))}
    assert {name: dict(each) for name, each in settings.items() if each} == {"lenet5-heteroscedastic": {"samples": 100}}


def test_a_close_look_has_the_plain_loop_one_run_and_both_executors(bench):
    figures = list(closely(SMALL, Named("gce"), bench))
    assert [figure.name for figure in figures] == ["plain loop", "streams, 1 run", "streams, 3 runs", "packed, 3 runs"]
    assert all(0 < figure.value < math.inf for figure in figures)
    assert all(figure.ratios["plain loop"] == figure.value / 1000 for figure in figures[1:])
    assert all(figure.ratios["ce"] > 0 for figure in figures[1:])


def test_targets_find_the_executor_that_is_chosen(bench):
    keys = {figure.name: figure.key for figure in closely(SMALL, Named("ce"), bench)}
    assert keys == {"plain loop": "", "streams, 1 run": "one", "streams, 3 runs": "", "packed, 3 runs": "many"}


def test_a_brief_look_compares_many_runs_with_cross_entropy(bench):
    (figure,) = briefly(SMALL, Named("mixup"), bench)
    ce, _ = bench.rates["mlp ce packed 3"]
    assert (figure.name, figure.ratios) == ("packed, 3 runs", {"ce": figure.value / ce})


def test_cross_entropy_alone_has_a_plain_loop_one_run_and_many(bench):
    names = [figure.name for figure in chosen_only(SMALL, bench)]
    assert names == ["plain loop", "streams, 1 run", "packed, 3 runs"]


SHORTAGES = [torch.OutOfMemoryError, RuntimeError("can't allocate memory"), MemoryError]


def raising(problem):
    def work(*_):
        raise problem

    return work


@pytest.mark.parametrize("problem", SHORTAGES)
def test_too_little_memory_leaves_one_figure_out(bench, monkeypatch, problem):
    monkeypatch.setattr(rows, "engine_rate", raising(problem))
    (figure,) = briefly(SMALL, Named("ce"), bench)
    assert (figure.value, figure.note) == (None, "there is too little memory")


@pytest.mark.parametrize("problem", SHORTAGES)
def test_a_figure_stays_where_memory_is_too_little_for_what_it_is_compared_with(bench, monkeypatch, problem):
    def rate(case, method, *_):
        return raising(problem)() if method == rows.CE else (5.0, "")

    monkeypatch.setattr(rows, "engine_rate", rate)
    (figure,) = briefly(SMALL, Named("gce"), bench)
    assert (figure.value, figure.ratios) == (5.0, {})


@pytest.mark.parametrize("problem", SHORTAGES)
@pytest.mark.parametrize(
    "look", [lambda bench: closely(SMALL, Named("gce"), bench), lambda bench: chosen_only(SMALL, bench)]
)
def test_too_little_memory_for_the_plain_loop_leaves_it_alone_out(bench, monkeypatch, problem, look):
    monkeypatch.setattr(rows, "plain_rate", raising(problem))
    plain, *others = look(bench)
    assert (plain.name, plain.value, plain.note) == ("plain loop", None, "there is too little memory")
    assert others
    assert all(figure.value > 0 and "plain loop" not in figure.ratios for figure in others)


@pytest.mark.parametrize("broken", ["plain_rate", "engine_rate"])
def test_another_error_is_raised(bench, monkeypatch, broken):
    monkeypatch.setattr(rows, broken, raising(RuntimeError("shapes cannot be multiplied")))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        list(closely(SMALL, Named("ce"), bench))
