"""Measures of where inducing points are, on points put there by hand."""

import numpy as np

from fewknots.paper.inducing_places import (
    boundary_points,
    distance_to_boundary,
    distinct_places,
    number_near_centre,
)


def test_points_linked_by_short_steps_are_one_place():
    chain = np.column_stack([np.arange(5) * 0.09, np.zeros(5)])
    apart = np.array([[3.0, 0.0], [3.0, 0.11]])
    points = np.concatenate([chain, apart])
    assert distinct_places(points, np.array([1.0, 1.0])) == 3
    assert distinct_places(points, np.array([1.0, 2.0])) == 2  # what is close is up to the kernel
    assert distinct_places(points, np.array([0.1, 0.1])) == 7


def test_the_boundary_is_where_the_probability_crosses_a_half():
    across, up = np.linspace(-1, 1, 41), np.linspace(-2, 2, 41)
    surface = 1 / (1 + np.exp(-10 * (across - 0.32)))[None, :].repeat(41, axis=0)
    found = boundary_points(across, up, surface)
    np.testing.assert_allclose(found[:, 0], 0.325)
    assert len(found) == 41
    points = np.array([[0.325, 0.0], [0.825, 1.0], [-0.675, -1.0]])
    lengthscale = np.array([0.5, 1.0])
    assert np.isclose(distance_to_boundary(points, lengthscale, (across, up, surface)), 1.0)
    nowhere = np.full((41, 41), 0.9)
    assert np.isnan(distance_to_boundary(points, lengthscale, (across, up, nowhere)))


def test_near_the_centre_is_in_standard_deviations():
    X = np.array([[9.0, -1.0], [11.0, 1.0], [9.0, 1.0], [11.0, -1.0]])
    points = np.array([[10.0, 0.0], [10.2, 0.0], [10.2, 0.2], [0.0, 0.0]])
    assert number_near_centre(points, X) == 2
