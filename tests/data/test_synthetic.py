import subprocess
import sys

import numpy as np
import pytest
import torch

from labelnoise.data import DATASETS, load


@pytest.mark.parametrize(
    ("name", "rows", "shape", "classes"),
    [
        ("digits", 1797, (1, 8, 8), tuple("0123456789")),
        ("moons", 2000, (2,), ("upper", "lower")),
        ("moon", 20_000, (2,), ("upper", "lower")),
        ("circles", 2000, (2,), ("outer", "inner")),
        ("gaussians", 2000, (2,), ("negative", "positive")),
    ],
)
def test_a_data_set_has_its_size_shape_and_classes(name, rows, shape, classes):
    data = load(name, 0)
    assert (data.name, len(data), data.shape, data.classes) == (name, rows, shape, classes)
    assert data.x.dtype == torch.float32
    assert data.noise_rate == 0


@pytest.mark.parametrize("name", ["moons", "moon", "circles", "gaussians"])
def test_generated_data_follow_the_seed(name):
    assert torch.equal(load(name, 1).x, load(name, 1).x)
    assert not torch.equal(load(name, 1).x, load(name, 2).x)


@pytest.mark.parametrize("name", ["moons", "circles", "gaussians"])
def test_generated_data_are_balanced(name):
    assert torch.bincount(load(name, 0).y_given).tolist() == [1000, 1000]


def test_digits_are_on_the_unit_interval():
    x = load("digits", 0).x
    assert (x.min().item(), x.max().item()) == (0, 1)


def test_digits_show_the_first_image_upright():
    # a zero: its first row as scikit-learn prints it, in sixteenths
    assert (load("digits", 0).x[0, 0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_digits_are_one_copy_for_all_seeds():
    assert load("digits", 0).x is load("digits", 1).x


def test_circles_have_radius_one_and_a_half():
    data = load("circles", 0)
    radius = data.x.norm(dim=1)
    means = [radius[data.y_true == label].mean().item() for label in (0, 1)]
    assert means == pytest.approx([1, 0.5], abs=0.01)


@pytest.mark.parametrize("name", ["moons", "moon"])
def test_the_upper_moon_lies_above_the_lower(name):
    data = load(name, 0)
    heights = [data.x[data.y_true == label, 1].mean().item() for label in (0, 1)]
    # half circles of radius 1 about heights 0 and 0.5 have their mean 2 / pi above and below these
    assert heights == pytest.approx([2 / np.pi, 0.5 - 2 / np.pi], abs=0.02)


def test_the_test_part_of_moon_is_the_second_half_in_equal_shares():
    data = load("moon", 0)
    assert torch.equal(data.test, torch.arange(10_000, 20_000))
    for half in data.y_true.split(10_000):
        assert torch.bincount(half).tolist() == [5000, 5000]


def test_the_two_halves_of_moon_have_no_point_in_common():
    first, second = ({*map(tuple, half.tolist())} for half in load("moon", 0).x.split(10_000))
    assert len(first) == len(second) == 10_000
    assert not first & second


@pytest.mark.parametrize(("name", "blur"), [("moons", 0.1), ("moon", 0.05)])
def test_moons_are_blurred_as_said(name, blur):
    data = load(name, 0)
    upper = data.x[(data.y_true == 0) & (data.x[:, 1] > 0.5)]  # the middle of the arc of radius 1 about the origin
    assert (upper.norm(dim=1) - 1).std().item() == pytest.approx(blur, rel=0.1)


@pytest.mark.parametrize(("label", "mean"), [(0, -1.0), (1, 1.0)])
def test_gaussians_have_the_moments_of_the_paper(label, mean):
    data = load("gaussians", 0)
    x = data.x[data.y_true == label].double().numpy()
    assert np.abs(x.mean(0) - mean).max() < 4 * 0.1 / np.sqrt(1000)
    assert np.abs(np.cov(x.T) - 0.01 * np.eye(2)).max() < 4 * 0.01 * np.sqrt(2 / 1000)


def test_all_small_data_sets_are_registered():
    assert {"circles", "digits", "gaussians", "moon", "moons"} <= {*DATASETS}


def test_importing_the_data_does_not_import_scikit_learn():
    code = "import sys, labelnoise.data; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
