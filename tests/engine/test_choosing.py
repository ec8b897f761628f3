from functools import partial

import pytest
import torch
from torch import nn

from labelnoise import nets
from labelnoise.engine.choosing import choose, threads_that_pay
from labelnoise.methods import METHODS, build
from labelnoise.threads import threads
from labelnoise.types import DataSpec

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def data(net, *shape, batch=128, **settings):
    return DataSpec(shape, 10, 1000, partial(nets.build, net, shape, settings=settings), batch)


@pytest.mark.parametrize(
    ("spec", "runs", "expected"),
    [
        (data("mlp", 1, 8, 8), 1, "streams"),
        (data("mlp", 1, 8, 8, batch=64), 2, "streams"),
        (data("mlp", 1, 8, 8), 2, "packed"),
        (data("mlp", 1, 8, 8, batch=256), 2, "streams"),
        (data("mlp", 1, 8, 8, batch=32), 3, "packed"),
        (data("mlp", 1, 8, 8), 3, "packed"),
        (data("mlp", 1, 8, 8, batch=256), 3, "streams"),
        (data("mlp", 1, 8, 8, batch=512), 18, "packed"),
        (data("mlp", 1, 28, 28, batch=32), 3, "packed"),
        (data("mlp", 1, 28, 28), 3, "streams"),
        (data("mlp", 1, 28, 28, batch=512), 8, "packed"),
        (data("mlp", 64, widths="1000,1000", batch=32), 3, "streams"),
        (data("mlp", 64, widths="1000,1000", batch=512), 8, "packed"),
        (data("mlp_2000", 2), 5, "streams"),
        (data("mlp_2000", 2), 18, "packed"),
        (data("mlp", 64, widths="3000,3000"), 8, "streams"),
        (data("lenet5", 1, 28, 28), 8, "streams"),
        (data("lenet5", 1, 12, 12, batch=32), 8, "packed"),
        (data("lenet5_same", 1, 8, 8, batch=32), 8, "packed"),
        (data("lenet5_same", 1, 8, 8, batch=64), 3, "streams"),
        (data("lenet5_same", 1, 8, 8), 18, "streams"),
        (data("resnet32", 1, 8, 8, batch=64), 3, "packed"),
        (data("resnet32", 1, 8, 8), 3, "streams"),
        (data("resnet32", 1, 8, 8), 8, "packed"),
        (data("resnet32", 3, 32, 32), 8, "streams"),
        (data("wrn_28_2", 3, 32, 32), 8, "streams"),
    ],
)
def test_on_a_cpu_small_layers_are_packed_where_runs_are_many(spec, runs, expected):
    with threads(2):
        assert choose(build("ce"), spec, runs, CPU) == expected


@pytest.mark.parametrize(
    ("spec", "runs", "expected"),
    [
        (data("mlp", 1, 8, 8), 2, "streams"),
        (data("mlp", 1, 8, 8, batch=512), 3, "packed"),
        (data("lenet5_same", 1, 8, 8, batch=32), 3, "streams"),
        (data("lenet5_same", 1, 8, 8, batch=32), 8, "packed"),
    ],
)
def test_on_a_single_thread_more_runs_are_needed(spec, runs, expected):
    with threads(1):
        assert choose(build("ce"), spec, runs, CPU) == expected


@pytest.mark.parametrize(("cores", "expected"), [(2, "streams"), (3, "packed"), (4, "streams"), (5, "packed")])
def test_large_products_are_packed_where_all_threads_have_as_many_runs(cores, expected):
    with threads(cores):
        assert choose(build("ce"), data("mlp", 64, widths="1000,1000"), 15, CPU) == expected


@pytest.mark.parametrize(
    ("method", "spec", "expected"),
    [
        ("co_teaching", data("mlp", 1, 28, 28), "packed"),
        ("causal_nl", data("mlp", 1, 8, 8), "packed"),
        ("causal_nl", data("mlp", 1, 28, 28), "streams"),  # its generators have convolutions
        ("heteroscedastic", data("mlp", 1, 8, 8), "streams"),  # 1,000 samples of 10 logits a row
        ("noise_against_noise", data("mlp", 1, 8, 8), "packed"),
    ],
)
def test_on_a_cpu_the_networks_and_draws_of_the_method_count(method, spec, expected):
    assert choose(build(method), spec, 8, CPU) == expected


@pytest.mark.parametrize(
    ("spec", "runs", "expected"),
    [
        (data("lenet5", 1, 28, 28), 8, "packed"),
        (data("lenet5", 1, 28, 28), 1, "streams"),
        (data("wrn_28_2", 3, 32, 32), 8, "streams"),
    ],
)
def test_on_a_gpu_small_networks_are_packed(spec, runs, expected):
    assert choose(build("ce"), spec, runs, GPU) == expected


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("spec", [data("mlp", 7), data("lenet5", 1, 28, 28)], ids=["table", "images"])
def test_every_method_has_an_executor(method, spec):
    assert choose(build(method), spec, 4, CPU) in ("streams", "packed")


@pytest.mark.parametrize("net", list(nets.NETS))
def test_every_network_has_an_executor(net):
    assert choose(build("ce"), data(net, 3, 32, 32, batch=2), 4, CPU) in ("streams", "packed")


def test_choosing_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    choose(build("co_teaching"), data("mlp", 7), 4, CPU)
    assert torch.rand(1) == expected


def test_small_networks_without_convolutions_get_one_thread():
    made = {name: spec.net(10) for name, spec in {"mlp": data("mlp", 64), "lenet5": data("lenet5", 1, 28, 28)}.items()}
    with threads(3):
        assert threads_that_pay(made["mlp"], 64) == 1
        assert threads_that_pay(made["mlp"], 18 * 64) == 3
        assert threads_that_pay(made["lenet5"], 64) == 3
        assert threads_that_pay(nn.Linear(2, 2), 10_000) == 1
