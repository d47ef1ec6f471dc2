"""Rates that fall, and when they begin to fall sooner."""

import numpy as np
import pytest

from fewknots.training.schedule import Pace, Plan, has_plateaued, patience, rates

PLAN = Plan("natural_gradient", 1000, 10_000)
SHARES = np.linspace(0.0, 1.0, 50)


def test_natural_rates_begin_as_an_average_and_end_at_a_pass():
    early = rates(PLAN, 0, np.zeros(30), 10**5, 1.0, np.float64).natural
    np.testing.assert_allclose(early[:19], 1.0 / np.arange(2, 21))
    np.testing.assert_allclose(early[19:], 0.05)
    late = rates(PLAN, 9000, SHARES, 10**5, 1.0, np.float64).natural
    assert np.all(np.diff(late) < 0)
    assert late[-1] == pytest.approx(0.01)  # B/N
    warm = rates(PLAN._replace(warm=True), 0, np.zeros(3), 10**5, 1.0, np.float64).natural
    np.testing.assert_allclose(warm, 0.05)
    all_rows = rates(PLAN, 0, SHARES, 1000, 1.0, np.float64).natural
    np.testing.assert_array_equal(all_rows, 0.5)


def test_gradient_rates():
    found = rates(PLAN, 0, SHARES, 10**5, 0.5, np.float64).gradient
    assert found[0] == pytest.approx(0.5 * 0.03)
    assert found[-1] == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.diff(found) < 0)
    paper = rates(Plan("adadelta", 10, 100), 0, SHARES, 10**5, 1.0, np.float64).gradient
    np.testing.assert_array_equal(paper, 0.1)


def test_a_plateau_shortens_what_is_left():
    pace = Pace(0, 0.0, 10_000)
    assert pace.share(2500) == 0.25
    ending = pace.ending(2500, 0.25)
    assert ending.share(2500) == 0.25
    assert ending.share(3250) == 1.0
    assert ending.share(2875) == pytest.approx(0.625)
    assert Pace(0, 0.0, 2600).ending(2500, 0.96).end == 2600  # never longer


def test_a_plateau_is_no_gain_beyond_noise():
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=20)
    flat, rising = -0.5 + noise, -0.5 + noise + np.linspace(0.0, 0.2, 20)
    assert has_plateaued(list(flat), 0.3, 1e-5, 10)
    assert not has_plateaued(list(rising), 0.3, 1e-5, 10)
    assert not has_plateaued(list(flat), 0.8, 1e-5, 10)  # the rates fall anyway
    assert not has_plateaued(list(flat[:19]), 0.3, 1e-5, 10)
    assert not has_plateaued(list(flat), 0.3, 1e-5, 11)
    assert not has_plateaued(list(flat), 0.3, 0.0, 10)  # all steps are wanted
    assert has_plateaued(list(rising), 0.3, 1.0, 10)  # less than tol
    assert has_plateaued(list(flat - np.linspace(0.0, 0.2, 20)), 0.3, 1e-5, 10)  # getting worse


def test_a_look_back_is_a_thousand_steps_or_a_pass():
    assert patience(100, 2048, 10**6) == 10
    assert patience(30, 2048, 10**6) == 34
    assert patience(100, 10, 60_000) == 60
    assert patience(100, 10, 10**9) == 100
