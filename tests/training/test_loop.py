"""The loop of all training in steps, around a strategy that only counts."""

import numpy as np
import pytest

from fewknots import NumericalError, NumericalWarning
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli
from fewknots.optimize.lbfgsb import Status
from fewknots.progress import Reporter
from fewknots.stopping import Interruption, StoppedEarly, TimeLimit
from fewknots.training.checkpoint import Checkpoints, Saved, of_minibatches
from fewknots.training.full_batch import Fitted
from fewknots.training.loop import Measure, Strategy, train
from fewknots.training.parameters import Model
from fewknots.training.schedule import Plan


class Counting:
    """Adds up its rates: a state is the sum so far. It fails when it is told to."""

    n_rows, tol, patience, advice = 100, 0.0, 1, "smaller numbers"

    def __init__(self, steps=5, fails=(), raises=None):
        self.plan = Plan("adam", 10, steps)
        self.fails, self.raises, self.calls = fails, raises, []

    def begin(self, now, saved):
        return 0.0 if saved is None else float(saved.arrays["sum"])

    def status(self, state, now):
        return None if now.share(None) < 1.0 else Status.CONVERGED

    def step(self, state, now):
        self.calls.append((now.done, now.slowdown))
        if self.raises is not None and now.done == self.raises:
            raise StoppedEarly
        is_good = len(self.calls) not in self.fails
        return state + now.slowdown, Measure(1, state, 0.01 * state, is_good=is_good)

    def saved(self, state):
        return Saved({"n_inducing": 1}, {"sum": np.array(state)})

    def so_far(self, state, bound):
        model = Model(RBF(1.0), None, Bernoulli("probit"))
        return Fitted(None, state, model, bound, None, 0, 0, Status.STOPPED, 0.0)

    def fitted(self, state, bound):
        return self.so_far(state, bound)._replace(is_estimate=bound is None)


def kept(folder):
    return Checkpoints(folder, {}, of_minibatches)


def run(strategy, report=None, checkpoints=None):
    saved = None if checkpoints is None else checkpoints.latest()
    return train(strategy, report or Reporter(None, 0, 5), 0, checkpoints, saved)


def test_all_steps_are_made_and_told():
    report, strategy = Reporter(None, 0, 5), Counting()
    assert isinstance(strategy, Strategy)
    found = run(strategy, report)
    assert (found.held, found.iterations, found.evaluations) == (5.0, 5, 5)
    assert found.status is Status.CONVERGED
    np.testing.assert_array_equal(report.history()["bound"], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert report.moments[-1].passes == 0.5


def test_a_bad_chunk_is_undone_and_run_again_with_half_the_rates():
    strategy = Counting(fails=(3,))
    with pytest.warns(NumericalWarning, match="steps 2 to 3 diverged"):
        found = run(strategy)
    assert strategy.calls == [(0, 1.0), (1, 1.0), (2, 1.0), (2, 0.5), (3, 0.5), (4, 0.5)]
    assert found.held == 2.0 + 3 * 0.5


def test_chunks_that_are_always_bad_end_with_advice():
    with (
        pytest.warns(NumericalWarning),
        pytest.raises(NumericalError, match=r"6 times in a row around step 1.* Try smaller num"),
    ):
        run(Counting(fails=range(2, 99)))


def test_a_run_taken_up_is_the_same_run(tmp_path):
    def die(now):
        if now.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(NumericalWarning), pytest.raises(KeyboardInterrupt):
        run(Counting(fails=(1,)), Reporter(die, 0, 5), kept(tmp_path))
    with pytest.warns(NumericalWarning):
        whole = run(Counting(fails=(1,)))
    again = Counting()
    assert run(again, checkpoints=kept(tmp_path)).held == whole.held
    assert again.calls[0][1] == 0.5  # it is still slower
    over = Counting()
    assert run(over, checkpoints=kept(tmp_path)).is_estimate  # nothing was reported anew
    assert over.calls == []


def test_a_callback_the_clock_and_ctrl_c_end_it():
    found = run(Counting(), Reporter(lambda now: now.iteration == 2, 0, 5))
    assert (found.iterations, found.status) == (2, Status.STOPPED)
    found = run(Counting(), Reporter(None, 0, 5, TimeLimit(0.0)))
    assert (found.iterations, found.status) == (1, Status.STOPPED)
    interruption = Interruption()

    def interrupt(now):
        interruption.interrupt()

    found = run(Counting(steps=1), Reporter(interrupt, 0, 5, None, interruption))
    assert found.status is Status.STOPPED


def test_asked_to_stop_in_the_middle_of_a_step_it_keeps_the_last_one(tmp_path):
    found = run(Counting(raises=3), checkpoints=kept(tmp_path))
    assert (found.held, found.iterations, found.status) == (3.0, 3, Status.STOPPED)
    assert run(Counting(), checkpoints=kept(tmp_path)).held == 5.0
    with pytest.raises(KeyboardInterrupt):  # there was none
        run(Counting(raises=0))


def test_a_moments_model_says_where_it_stands():
    seen = []
    report = Reporter(
        lambda now: seen.append(now.model()), 0, 5, as_estimator=lambda now, found: found
    )
    run(Counting(), report)
    assert [found.held for found in seen] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [found.iterations for found in seen] == [1, 2, 3, 4, 5]
    assert seen[-1].status is Status.STOPPED


def test_rounds_kept_by_an_older_fewknots_go_on(tmp_path):
    """They said how many they were, and nothing else of where they stood."""
    report = Reporter(None, 0, 5)
    for bound in (0.0, 1.0):
        report(bound)
    history = {f"history.{name}": column for name, column in report.history().items()}
    header = {"seed": 0, "n_inducing": 1}
    for name in ("done", "rounds"):
        kept(tmp_path).write(2, header | {name: 2}, {"sum": np.array(2.0)} | history)
        found = run(Counting(), checkpoints=kept(tmp_path))
        assert (found.held, found.iterations) == (5.0, 5)
