import pytest
import torch

from labelnoise.config import Named
from labelnoise.errors import InputError
from labelnoise.nets import build
from labelnoise.speed import cases
from labelnoise.speed.cases import CASES, Bench, Case, absent, images

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SMALL = Case("mnist", Named("mlp", {"widths": "8"}), 64, runs=3, few=(2, 32))


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELNOISE_DATA", str(tmp_path))


@pytest.mark.parametrize(("name", "weights"), [("lenet5", 61_706), ("lenet5_same", 545_546), ("wrn_28_2", 1_467_610)])
def test_the_networks_are_those_that_the_figures_name(name, weights):
    case = CASES[name]
    net = build(case.net.name, images(case.data, 100).shape, 10, settings=case.net.settings)
    assert sum(param.numel() for param in net.parameters()) == weights


@pytest.mark.parametrize(
    ("name", "batch", "runs"),
    [("lenet5", 256, 45), ("lenet5_same", 256, 18), ("wrn_28_2", 128, 8), ("resnet34", 128, 8)],
)
def test_batches_and_runs_on_a_gpu_are_those_that_the_figures_name(name, batch, runs):
    case = Bench(GPU, 0.0).fitted(CASES[name])
    assert (case.batch, case.runs) == (batch, runs)


def test_on_a_cpu_runs_are_fewer_and_batches_smaller():
    case = Bench(CPU, 0.0).fitted(SMALL)
    assert (case.runs, case.batch, case.config(Named("ce")).train.batch) == (2, 32, 32)


def test_without_the_data_set_images_are_random_and_of_its_shape():
    found = images("cifar10", 600)
    assert (found.shape, found.x.dtype, len(found), len(found.test), len(found.classes)) == (
        (3, 32, 32),
        torch.uint8,
        600,
        100,
        10,
    )


def test_of_a_data_set_that_is_there_so_many_rows_are_taken_with_their_labels(monkeypatch):
    whole = images("mnist")
    monkeypatch.setattr(cases, "absent", lambda name: "")
    monkeypatch.setattr(cases, "load", lambda name, seed: whole)
    some = images.__wrapped__("mnist", 700)
    torch.testing.assert_close(some.x, whole.x[::100])
    assert some.y_given.equal(whole.y_given[::100])
    assert some.test.tolist() == list(range(600, 700))


def test_a_data_set_that_is_not_there_is_told_with_how_to_get_it(tmp_path):
    assert absent("mnist").startswith(f"mnist is not in the data root {tmp_path}; type `labelnoise data fetch mnist`")


def test_it_is_measured_on_the_device_that_is_named():
    assert Bench.on("cpu").device == CPU
    with pytest.raises(InputError, match="not available"):
        Bench.on("abacus")
