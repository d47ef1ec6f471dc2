import numpy as np
import pytest

from fewknots.optimize.lbfgsb import Status, maximise

ANYWHERE = ({"x": np.full(3, -np.inf)}, {"x": np.full(3, np.inf)})
GOAL = np.array([1.0, -2.0, 3.0])


def hill(params):
    away = params["x"] - GOAL
    return -float(away @ away), {"x": -2.0 * away}


def run(objective, start, limits=ANYWHERE, max_iter=100, gain=1e-12, on_iteration=lambda v: False):
    return maximise(
        objective, {"x": np.array(start, float)}, limits,
        max_iter=max_iter, plateau_gain=gain, on_iteration=on_iteration,
    )  # fmt: skip


def test_finds_the_top():
    outcome = run(hill, [0, 0, 0])
    np.testing.assert_allclose(outcome.params["x"], GOAL, atol=1e-6)
    assert outcome.status is Status.CONVERGED
    assert outcome.value == pytest.approx(0.0, abs=1e-10)


def test_respects_limits():
    outcome = run(hill, [0, 0, 0], ({"x": np.full(3, -1.0)}, {"x": np.full(3, 0.5)}))
    np.testing.assert_allclose(outcome.params["x"], [0.5, -1.0, 0.5])


def rosenbrock(params):
    x, y, _ = params["x"]
    value = -((1 - x) ** 2) - 100 * (y - x * x) ** 2
    dx = 2 * (1 - x) + 400 * x * (y - x * x)
    return float(value), {"x": np.array([dx, -200 * (y - x * x), 0.0])}


def test_says_when_it_ran_out_of_iterations():
    outcome = run(rosenbrock, [-1.2, 1, 0], max_iter=5)
    assert outcome.status is Status.MAX_ITER
    assert outcome.iterations == 5


def test_stops_when_told():
    seen = []
    outcome = run(rosenbrock, [-1.2, 1, 0], on_iteration=lambda v: seen.append(v) or len(seen) == 3)
    assert outcome.status is Status.STOPPED
    assert outcome.iterations == 3
    assert seen == sorted(seen)


def test_turns_back_from_points_that_are_not_numbers():
    """NaN beyond x = 0.9; without a way back the search would end at its first step."""

    def broken(params):
        if params["x"][0] > 0.9:
            return float("nan"), {"x": np.full(3, np.nan)}
        return hill(params)

    outcome = run(broken, [-30.0, 0.0, 0.0])
    assert np.isfinite(outcome.value)
    assert outcome.params["x"][0] == pytest.approx(0.9, abs=0.15)
    np.testing.assert_allclose(outcome.params["x"][1:], GOAL[1:], atol=0.3)


def test_turns_back_from_a_precipice():
    """Beyond x = 0.9 the value is finite, but no step between it and the start can be read off."""

    def steep(params):
        if params["x"][0] > 0.9:
            return -1e140, {"x": np.array([-1e140, 0.0, 0.0])}
        return hill(params)

    outcome = run(steep, [-30.0, 0.0, 0.0])
    assert outcome.params["x"][0] == pytest.approx(0.9, abs=0.15)
    np.testing.assert_allclose(outcome.params["x"][1:], GOAL[1:], atol=0.3)
