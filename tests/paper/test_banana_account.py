"""Measures of where inducing points are, on points put there by hand, and the words for them."""

import numpy as np

from fewknots.explain import Surface
from fewknots.paper.banana_account import (
    account,
    boundary_points,
    distance_to_boundary,
    distinct_places,
    number_near_centre,
)
from fewknots.paper.experiment import Cell, Result


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
    known = Surface(("", ""), (0, 1), across, up, surface, points, held=False)
    assert np.isclose(distance_to_boundary(points, lengthscale, known), 1.0)
    nowhere = known._replace(probability=np.full((41, 41), 0.9))
    assert np.isnan(distance_to_boundary(points, lengthscale, nowhere))


def test_near_the_centre_is_in_standard_deviations():
    X = np.array([[9.0, -1.0], [11.0, 1.0], [9.0, 1.0], [11.0, -1.0]])
    points = np.array([[10.0, 0.0], [10.2, 0.0], [10.2, 0.2], [0.0, 0.0]])
    assert number_near_centre(points, X) == 2


def result(method, count, **values):
    given = {"nlp": 0.25, "places": count, "near_centre": 0, "boundary_distance": 0.3}
    cell = Cell(f"{method}-{count}", {"method": method, "n_inducing": count})
    return Result(cell, given | values, None, 1.0)


def test_the_account_follows_the_numbers():
    kl = [result("sparse_kl", 8, nlp=0.3), result("sparse_kl", 64), result("full_kl", None)]
    mf = [result("sparse_mean_field", 64)]
    spread = account([kl, mf, [result("fitc_ep", 64, places=60)]])
    assert "64 are enough for an NLP" in spread
    assert "They do not collapse: its 64 points are left in 60 places" in spread
    fallen = account([kl, mf, [result("fitc_ep", 64, places=30, near_centre=12)]])
    assert "They collapse: its 64 points are left in 30 places, and 12 points" in fallen
    failed = result("fitc_ep", 64)._replace(values={}, failed="ValueError: no")
    assert "collapse:" not in account([kl, mf, [failed]])
    worse = [result("sparse_kl", 64, nlp=0.5), result("full_kl", None)]
    assert "No sparse KL fit comes within" in account([worse, mf, [failed]])
