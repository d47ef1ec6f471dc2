import numpy as np
import pytest

from fewknots.optimize import lbfgsb, scg
from fewknots.optimize.lbfgsb import Status


def banana_valley(params):
    """Rosenbrock's function, upside down; its maximum is 0 at (1, 1)."""
    x, y = params["x"]
    value = -((1 - x) ** 2) - 100 * (y - x**2) ** 2
    gradient = np.array([2 * (1 - x) + 400 * x * (y - x**2), -200 * (y - x**2)])
    return float(value), {"x": gradient}


START = {"x": np.array([-1.2, 1.0])}
FAR = ({"x": np.full(2, -np.inf)}, {"x": np.full(2, np.inf)})


def run(maximise, objective=banana_valley, start=START, limits=FAR, **options):
    arguments = {"max_iter": 500, "plateau_gain": 1e-12, "on_iteration": lambda value: False}
    return maximise(objective, start, limits, **(arguments | options))


def test_finds_the_maximum():
    outcome = run(scg.maximise)
    np.testing.assert_allclose(outcome.params["x"], [1.0, 1.0], atol=1e-4)
    assert outcome.status is Status.CONVERGED


def test_agrees_with_lbfgs_on_a_badly_scaled_quadratic():
    scales = np.logspace(0, 4, 20)

    def quadratic(params):
        d = params["x"] - 1.0
        return float(-0.5 * d @ (scales * d)), {"x": -scales * d}

    start, far = {"x": np.zeros(20)}, ({"x": np.full(20, -np.inf)}, {"x": np.full(20, np.inf)})
    for maximise in (scg.maximise, lbfgsb.maximise):
        outcome = run(maximise, quadratic, start, far, max_iter=2000)
        np.testing.assert_allclose(outcome.params["x"], 1.0, atol=1e-4)


def test_never_goes_down_and_counts_iterations():
    values = []
    outcome = run(scg.maximise, on_iteration=lambda value: bool(values.append(value)))
    assert np.all(np.diff(values) >= 0)
    assert outcome.iterations == len(values)
    assert outcome.value == values[-1]


def test_stops_when_told_and_when_out_of_iterations():
    assert run(scg.maximise, on_iteration=lambda value: True).status is Status.STOPPED
    few = run(scg.maximise, max_iter=3)
    assert (few.status, few.iterations) == (Status.MAX_ITER, 3)


def test_turns_back_where_the_objective_is_not_a_number():
    def cliff(params):
        value, gradient = banana_valley(params)
        if params["x"][0] > 0.5:
            return np.nan, {"x": np.full(2, np.nan)}
        return value, gradient

    outcome = run(scg.maximise, cliff)
    assert np.isfinite(outcome.value)
    assert outcome.params["x"][0] <= 0.5


def test_stays_within_limits():
    limits = ({"x": np.full(2, -2.0)}, {"x": np.full(2, 0.6)})
    outcome = run(scg.maximise, start={"x": np.array([-1.2, 0.5])}, limits=limits)
    assert np.all(outcome.params["x"] <= 0.6)


def test_a_start_that_is_not_a_number_is_given_back():
    outcome = run(scg.maximise, lambda params: (np.nan, {"x": np.full(2, np.nan)}))
    assert outcome.value == -np.inf
    assert outcome.params["x"] == pytest.approx(START["x"])
