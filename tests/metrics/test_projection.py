import numpy as np
import pytest
import torch

from labelnoise.errors import InputError
from labelnoise.metrics import project

RNG = np.random.default_rng(0)
WEIGHTS, FEATURES = RNG.normal(size=(5, 8)), RNG.normal(size=(20, 8))


def test_the_standard_basis_becomes_a_triangle():
    expected = [[0, 0], [1.414214, 0], [0.707107, 1.224745]]
    np.testing.assert_allclose(project(torch.eye(3), torch.eye(3), (0, 1, 2)), expected, atol=5e-7)


def test_the_worked_example():
    found = project(torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64), torch.eye(3), (0, 1, 2))
    np.testing.assert_allclose(found, [[0.353553, 0.122474]], atol=5e-7)


def test_distances_between_the_three_classes_are_kept():
    found = project(WEIGHTS, WEIGHTS, (4, 0, 2)).numpy()
    for i, j in ((4, 0), (4, 2), (0, 2)):
        assert np.linalg.norm(found[i] - found[j]) == pytest.approx(np.linalg.norm(WEIGHTS[i] - WEIGHTS[j]))


def test_the_first_class_is_the_origin_the_second_lies_right_and_the_third_above():
    origin, right, up = project(WEIGHTS, WEIGHTS, (3, 1, 2)).numpy()[[3, 1, 2]]
    np.testing.assert_allclose([*origin, right[1]], 0, atol=1e-12)
    assert right[0] > 0
    assert up[1] > 0


def test_the_projection_is_the_nearest_point_of_the_plane():
    # least squares on the two directions, which need not be orthogonal
    a, b, c = WEIGHTS[:3]
    directions = np.stack([b - a, c - a], 1)
    shares = np.linalg.lstsq(directions, (FEATURES - a).T, rcond=None)[0]
    corners = project(WEIGHTS, WEIGHTS, (0, 1, 2)).numpy()
    expected = shares.T @ corners[1:3]
    np.testing.assert_allclose(project(FEATURES, WEIGHTS, (0, 1, 2)), expected, atol=1e-12)


def test_what_is_orthogonal_to_the_plane_is_not_seen():
    across = np.linalg.svd(WEIGHTS[[1, 2]] - WEIGHTS[0])[2][-1]
    moved = project(FEATURES + 5 * across, WEIGHTS, (0, 1, 2))
    np.testing.assert_allclose(moved, project(FEATURES, WEIGHTS, (0, 1, 2)), atol=1e-12)


def test_a_bias_is_one_more_weight():
    bias = RNG.normal(size=5)
    longer = project(np.c_[FEATURES, np.ones(20)], np.c_[WEIGHTS, bias], (0, 1, 2))
    np.testing.assert_allclose(project(FEATURES, WEIGHTS, (0, 1, 2), bias), longer, atol=1e-14)


def test_a_run_axis_projects_each_run_by_its_own_weights():
    weights = np.stack([WEIGHTS, WEIGHTS[::-1]])
    both = project(np.stack([FEATURES, FEATURES]), weights, (0, 1, 2))
    np.testing.assert_allclose(both[1], project(FEATURES, WEIGHTS[::-1].copy(), (0, 1, 2)), atol=1e-14)


@pytest.mark.parametrize("classes", [(0, 1, 1), (0, 1, 5), (-1, 0, 1)])
def test_three_different_classes_are_needed(classes):
    with pytest.raises(InputError, match="three different classes from 0 to 4"):
        project(FEATURES, WEIGHTS, classes)


@pytest.mark.parametrize("third", [2.0, 0.0, 1.0])
def test_weights_on_one_line_span_no_plane(third):
    weights = WEIGHTS[0] + np.array([0, 1, third])[:, None] * (WEIGHTS[1] - WEIGHTS[0])
    with pytest.raises(InputError, match="on one line"):
        project(FEATURES, weights, (0, 1, 2))
