"""The lower envelope of curves, by hand."""

import numpy as np
import pytest

from fewknots.paper.frontier import Curve, Stretch, efficient_frontier
from fewknots.paper.time_curves import largest_rise


def test_the_envelope_and_who_holds_it():
    slow = Curve("slow", np.array([10.0, 100.0]), np.array([0.3, 0.1]))
    quick = Curve("quick", np.array([1.0, 10.0]), np.array([0.5, 0.4]))
    late = Curve("quick", np.array([100.0, 1000.0]), np.array([0.2, 0.05]))
    frontier = efficient_frontier([slow, quick, late])
    np.testing.assert_array_equal(frontier.seconds, [1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_array_equal(frontier.scores, [0.5, 0.3, 0.1, 0.05])
    assert frontier.stretches == (
        Stretch(1.0, 10.0, "quick"),
        Stretch(10.0, 1000.0, "slow"),
        Stretch(1000.0, 1000.0, "quick"),
    )
    assert frontier.shares() == pytest.approx({"slow": 2 / 3, "quick": 1 / 3})
    assert list(frontier.shares()) == ["slow", "quick"]


def test_a_score_that_rises_again_is_what_a_fit_stopped_then_would_have():
    jumpy = Curve("jumpy", np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.1, 0.4]))
    steady = Curve("steady", np.array([1.0, 8.0]), np.array([0.3, 0.2]))
    frontier = efficient_frontier([jumpy, steady])
    np.testing.assert_array_equal(frontier.scores, [0.3, 0.1, 0.3, 0.2])


def test_short_stretches_are_passed_over_in_the_telling():
    times = np.array([1.0, 10.0, 11.0, 100.0])
    often = Curve("often", times, np.array([0.4, 0.35, 0.3, 0.2]))
    once = Curve("once", times, np.array([0.5, 0.34, 0.31, 0.3]))
    frontier = efficient_frontier([often, once])
    assert [stretch.holder for stretch in frontier.stretches] == ["often", "once", "often"]
    assert frontier.long_stretches(0.1) == [Stretch(1.0, 100.0, "often")]
    assert frontier.long_stretches(0.0) == list(frontier.stretches)


def test_largest_rise():
    assert largest_rise(np.array([0.5, 0.2, 0.6, 0.1, 0.3])) == pytest.approx(0.4)
    assert largest_rise(np.array([0.5, 0.4, 0.3])) == 0.0
