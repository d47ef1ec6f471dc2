"""Ending a fit early: the clock, Ctrl-C, SIGTERM. Real signals, real processes."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fewknots import GPClassifier, GPRegressor
from fewknots.exceptions import InterruptedFitWarning
from fewknots.fitting import contest
from fewknots.kernels import RBF
from fewknots.local import training
from fewknots.numerics.precision import compiled, computing_in
from fewknots.stopping import (
    Interruption,
    StoppedEarly,
    TimeLimit,
    forced_exit,
    holding_back,
    listening,
    raise_if_interrupted,
    to_the_end,
)

from .waiting import HANGS

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 2))
y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0


def long_ago(seconds, used):
    """A limit of which some seconds are used."""
    return TimeLimit(seconds, time.perf_counter() - used)


# --- the clock ------------------------------------------------------------------------------------


def test_the_share_of_training_is_counted_from_the_first_steps_to_the_last_scores():
    limit = long_ago(1000.0, used=400.0)  # which went into compiling
    assert limit.share() == 0.0
    limit.begin_training()
    assert limit.share() < 0.01
    assert limit.training_seconds == pytest.approx(600.0, abs=5.0)
    limit._training_began -= 150.0
    assert limit.share() == pytest.approx(150.0 / 750.0, abs=0.01)
    limit.reserve = 450.0
    assert limit.share() == pytest.approx(150.0 / 300.0, abs=0.02)
    limit.reserve = 700.0
    assert limit.share() == 1.0
    assert not limit.is_over()


def test_a_limit_is_over_at_its_end():
    limit = long_ago(10.0, used=11.0)
    assert limit.is_over()
    assert limit.left() == 0.0
    limit.begin_training()
    assert limit.share() == 1.0


def test_a_run_that_is_taken_up_has_used_its_earlier_seconds():
    limit = TimeLimit(1000.0)
    limit.take_up(250.0)
    assert limit.left() == pytest.approx(750.0, abs=5.0)
    assert limit.share() == pytest.approx(0.25, abs=0.01)
    assert limit.seconds == pytest.approx(1000.0)


class SlowToRead:
    """Rows that take a while to become an array."""

    def __init__(self, rows, seconds):
        self.rows, self.seconds = rows, seconds

    def __array__(self, dtype=None, copy=None):
        time.sleep(self.seconds)
        return np.asarray(self.rows, dtype)


@pytest.mark.parametrize(
    ("way", "fewest"),
    [
        ({"n_inducing": 8}, 1),
        ({"n_inducing": 8, "optimizer": "natural_gradient"}, 5),
        ({"method": "local"}, 10),
    ],
)
def test_max_time_counts_from_the_call_of_fit(way, fewest):
    """Reading takes all of the time: what is left is the least that a fit can do."""
    late = GPClassifier(max_time=0.5, random_state=0, **way).fit(SlowToRead(X, 0.6), y)
    assert late.n_iter_ <= fewest
    assert not late.converged_ or "optimizer" in way or way == {"method": "local"}
    assert np.isfinite(late.log_evidence_)
    assert np.isfinite(late.predict_proba(X)).all()


def test_without_time_for_a_contest_there_is_none():
    rows = RNG.normal(size=(2500, 3))
    clf = GPClassifier(max_time=1e-3, random_state=0).fit(rows, rows[:, 0] > 0)
    assert clf.method_ == "local"
    assert clf.n_iter_ <= 10
    assert clf.contest_ == {}
    assert len(clf.posterior_.points) == 2500
    assert np.isfinite(clf.log_evidence_)


def test_without_time_for_all_rows_the_evidence_is_an_estimate():
    rows = RNG.normal(size=(40_000, 2))
    labels = rows[:, 0] + 0.3 * RNG.normal(size=len(rows)) > 0
    way = {"method": "sparse_kl", "n_inducing": 8, "optimizer": "natural_gradient"}
    clf = GPClassifier(max_time=1e-3, random_state=0, **way).fit(rows, labels)
    assert not clf.evidence_is_bound_
    whole = GPClassifier(max_iter=5, random_state=0, **way).fit(rows, labels)
    assert whole.evidence_is_bound_
    assert clf.log_evidence_ == pytest.approx(whole.log_evidence_, rel=0.1)


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.fixture
def ctrl_c():
    """As in a program of the user's own: pytest has a handler that is not ours to replace."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_before_there_is_anything_to_keep_it_raises(ctrl_c):
    with listening() as interruption, pytest.raises(KeyboardInterrupt):
        ctrl_c()
    assert not interruption.seen
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_first_is_remembered_and_the_second_raises(ctrl_c):
    with listening() as outer, listening() as inner:
        assert inner is outer
        inner.can_keep = True
        ctrl_c()
        assert outer.seen
        with pytest.raises(StoppedEarly):
            raise_if_interrupted()
        with to_the_end():
            raise_if_interrupted()
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()


def test_it_waits_until_a_program_is_over(ctrl_c):
    done = []

    def program():
        with holding_back():
            ctrl_c()
            with holding_back():
                done.append("inner")
            done.append("outer")
        done.append("never")

    with listening(), pytest.raises(KeyboardInterrupt):
        program()
    assert done == ["inner", "outer"]


def test_other_peoples_handlers_are_theirs():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("theirs"))
    try:
        with listening() as interruption:
            interruption.can_keep = True
            os.kill(os.getpid(), signal.SIGINT)
            assert heard == ["theirs"]
            assert not interruption.seen
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_thread_does_not_listen(ctrl_c):
    found = []

    def elsewhere():
        with listening() as interruption:
            found.append(interruption)

    with listening() as ours:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found[0] is not ours
    assert isinstance(found[0], Interruption)


WAYS = [
    {"n_inducing": 8, "method": "sparse_kl"},
    {"n_inducing": 8, "method": "sparse_kl", "optimizer": "lbfgs"},
    {"n_inducing": 8, "method": "sparse_kl", "optimizer": "scg"},
    {"n_inducing": 8, "optimizer": "natural_gradient", "tol": 0.0},
    {"n_inducing": 8, "optimizer": "rounds", "tol": 0.0},
    {"method": "local", "tol": 0.0},
    {"method": "full_kl"},
    {"method": "ep"},
    {"method": "sparse_mean_field", "n_inducing": 8},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))
def test_every_fit_ends_with_what_it_has(way, ctrl_c):
    moments = []

    def interrupt_at_the_second(progress):
        moments.append(progress)
        if len(moments) == 2:
            ctrl_c()

    with pytest.warns(InterruptedFitWarning, match="interrupted after") as said:
        clf = GPClassifier(random_state=0, callback=interrupt_at_the_second, **way).fit(X, y)
    assert len(moments) == 2
    assert clf.n_iter_ == moments[-1].iteration
    assert not clf.converged_
    assert np.isfinite(clf.predict_proba(X)).all()
    assert said[0].filename == __file__


def test_a_regressor_too(ctrl_c):
    with pytest.warns(InterruptedFitWarning):
        fitted = GPRegressor(n_inducing=8, random_state=0, callback=lambda _: ctrl_c()).fit(
            X, X[:, 0]
        )
    assert fitted.n_iter_ == 1


def test_a_second_one_leaves_the_old_model(ctrl_c):
    clf = GPClassifier(n_inducing=8, random_state=0).fit(X, y)
    before = clf.predict_proba(X)

    def insist(progress):
        ctrl_c()
        ctrl_c()

    clf.set_params(callback=insist)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, ~y)
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_a_program_that_is_compiled_is_left_behind(ctrl_c):
    """Tracing it waits for what comes after the interruption: waited for, it would never end."""
    traced, interrupted = threading.Event(), threading.Event()

    def slow_to_compile(x):
        traced.set()
        assert interrupted.wait(HANGS)
        return x + 1.0

    def press():
        assert traced.wait(HANGS)
        ctrl_c()

    program = compiled(slow_to_compile)
    pressing = threading.Thread(target=press)
    pressing.start()
    with listening(), pytest.raises(KeyboardInterrupt):
        program(1.0)
    interrupted.set()
    pressing.join()
    assert program(1.0) == 2.0


def test_a_fit_without_a_result_is_abandoned_for_that_of_another(ctrl_c):
    """While its program is compiled, also in a command: a competitor in a contest."""
    traced, interrupted = threading.Event(), threading.Event()

    def slow_to_compile(x):
        traced.set()
        assert interrupted.wait(HANGS)
        return x + 1.0

    def press():
        assert traced.wait(HANGS)
        ctrl_c()

    pressing = threading.Thread(target=press)
    with listening() as interruption, forced_exit(lambda number: 1):
        interruption.can_keep = interruption.can_abandon = True
        pressing.start()
        with pytest.raises(KeyboardInterrupt):
            compiled(slow_to_compile)(1.0)
        assert interruption.seen
    interrupted.set()
    pressing.join()


def test_a_program_is_not_waited_for_beyond_the_time():
    released = threading.Event()

    def slow_to_compile(x):
        assert released.wait(HANGS)
        return x + 1.0

    program = compiled(slow_to_compile)
    with listening() as interruption:
        with interruption.abandonable(TimeLimit(0.1)), pytest.raises(KeyboardInterrupt):
            program(1.0)
        released.set()
        assert not interruption.seen
        assert program(1.0) == 2.0


def test_a_competitor_that_has_not_begun_at_the_end_of_the_time_is_abandoned(monkeypatch):
    """Its programs wait to be compiled until the fit is over: else it would never end."""
    second, over = threading.Event(), threading.Event()
    own = contest.Contest._compete

    def compete(self, method, limit, callback):
        if method == "local":
            limit.end = time.perf_counter()  # then it takes a hundred steps, and is scored
        else:
            second.set()
            self.limit.end = time.perf_counter() + 0.2
        return own(self, method, limit, callback)

    class Slow(RBF):
        def correlation(self, r2):
            if second.is_set() and threading.current_thread() is not threading.main_thread():
                assert over.wait(HANGS)
            return super().correlation(r2)

    monkeypatch.setattr(contest.Contest, "_compete", compete)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    clf = GPClassifier(Slow(lengthscale=np.ones(2)), max_time=HANGS, random_state=0)
    try:
        clf.fit(X, X[:, 0] * X[:, 1] > 0)
    finally:
        over.set()
    assert clf.method_ == "local"
    assert list(clf.contest_) == ["local"]


def test_local_evidence_is_not_computed_to_its_end(ctrl_c, monkeypatch):
    """Ctrl-C in the last look at all rows: the bound of the last steps is what there is."""
    blocks = []
    own = training.row_slices

    def slices(n_rows, size):
        for rows in own(n_rows, 50):
            blocks.append(rows)
            ctrl_c()
            yield rows

    monkeypatch.setattr(training, "row_slices", slices)
    monkeypatch.setattr(training, "block_size", lambda *numbers: 50)
    with pytest.warns(InterruptedFitWarning):
        clf = GPClassifier(method="local", max_iter=3, random_state=0).fit(X, y)
    assert len(blocks) == 1
    assert np.isfinite(clf.log_evidence_)
    assert clf.score(X, y) > 0.8


def test_a_program_is_compiled_once_for_the_thread_and_the_call():
    traced = []

    def counted(x):
        traced.append(threading.current_thread())
        return x + 1.0

    program = compiled(counted)
    with listening(), computing_in(np.dtype(np.float64)):
        assert program(np.ones(3)).dtype == np.float64
        assert program(np.zeros(3)).dtype == np.float64
    assert len(traced) == 1
    assert traced[0] is not threading.main_thread()


def test_what_is_wrong_with_a_program_is_told_where_it_is_called():
    def faulty(x):
        raise ArithmeticError("as it is")

    with listening(), pytest.raises(ArithmeticError, match="as it is"):
        compiled(faulty)(1.0)


# Fits a contest once undisturbed, then again and again with a Ctrl-C that comes later each time:
# in the first fit, between the two, while the second one compiles, after the last report.
CONTEST = """
    import os, signal, sys, threading, time, warnings
    import numpy as np
    from fewknots import GPClassifier, InterruptedFitWarning
    from fewknots.fitting import plan

    # A contest on few rows, in small batches and among few neighbours is over sooner, and no other.
    plan.FEWEST_ROWS_TO_COMPETE, plan._LOCAL_BATCH, plan._NEIGHBORS = 400, 64, {"cpu": 16}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores Ctrl-C
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X)) > 1

    def fit(share, whole):
        moments = []
        timer = threading.Timer(share * whole, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        note = lambda now: moments.append(now) and False
        clf = GPClassifier(tol=1e-3, random_state=0, callback=note)
        outcome = "not heard"
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                if share is not None and whole: timer.start()
                clf.fit(X, y)
            seconds = time.perf_counter() - started
            if any(issubclass(w.category, InterruptedFitWarning) for w in said):
                outcome = "kept"
            elif whole:
                timer.join()
                time.sleep(0.2)
        except KeyboardInterrupt:
            seconds = time.perf_counter() - started
            outcome = "raised after the fit" if hasattr(clf, "posterior_") else "raised"
        if hasattr(clf, "posterior_"):
            assert np.isfinite(clf.predict_proba(X[:5])).all()
            assert clf.get_params()["method"] == "auto"
        print(outcome, len(moments), flush=True)
        return seconds

    fit(0.0, 0.0)  # compiles
    whole = fit(0.0, 0.0)
    for share in (0.1, 0.4, 0.6, 0.8, 0.97):
        fit(share, whole)
"""


@pytest.mark.slow
def test_nothing_is_lost_wherever_it_comes_in_a_contest():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CONTEST)],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    undisturbed, *outcomes = done.stdout.splitlines()[1:]
    assert undisturbed.startswith("not heard")
    for outcome in outcomes:
        what, n_moments = outcome.rsplit(" ", 1)
        # never swallowed, and never lost once there was something to keep
        assert what in ("kept", "raised after the fit") or (what, n_moments) == ("raised", "0")
    assert any(outcome.startswith("kept") for outcome in outcomes)


# --- commands -------------------------------------------------------------------------------------

# The command is replaced by a program that never ends, as compiling does not for seconds.
ENDLESS = """
import os, signal, sys, threading, time
import jax
import typer
from fewknots.cli.running import Commands, run, take_sigterm_for_ctrl_c
from fewknots.files.container import replacing
from fewknots.numerics.precision import compiled
from fewknots.stopping import scratch_folder

def send_signal():
    began = time.process_time()
    while time.process_time() < began + 1.0:  # by then the program runs, or is compiled
        time.sleep(0.01)
    os.kill(os.getpid(), int(sys.argv[2]))

signal.signal(signal.SIGINT, signal.default_int_handler)
take_sigterm_for_ctrl_c()
app = typer.Typer(cls=Commands)

@app.callback()
def main(): ...

@app.command()
def work():
    forever = compiled(lambda x: jax.lax.while_loop(lambda x: x > 0, lambda x: x + 1e-9, x))
    with scratch_folder() as folder, replacing(sys.argv[1]) as unfinished:
        print(folder, flush=True)
        threading.Thread(target=send_signal, daemon=True).start()
        forever(1.0)

sys.exit(run(app, ["work"]))
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_ends_amid_a_program_that_does_not(sent, code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "out"), str(int(sent))],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr == "fewknots: interrupted; nothing more was written.\n"
    assert not Path(done.stdout.strip()).exists()  # the scratch folder
    assert not list(tmp_path.iterdir())


# The command has a result of its own, and a program that is never compiled is left behind.
WITH_A_RESULT = """
import os, signal, sys, threading, time
import typer
from fewknots import cli
from fewknots.cli import app
from fewknots.cli.running import Commands, exit_code_of_interruption
from fewknots.numerics.precision import compiled
from fewknots.stopping import listening

signal.signal(signal.SIGINT, signal.default_int_handler)
app.app = typer.Typer(cls=Commands)

def endless(x):
    os.kill(os.getpid(), int(sys.argv[2]))
    while True:
        time.sleep(1.0)

@app.app.callback()
def main(): ...

@app.app.command()
def work(number: int):
    with listening() as interruption:
        interruption.can_keep = interruption.can_abandon = True
        try:
            compiled(endless)(1.0)
        except KeyboardInterrupt:
            print("written")
            raise typer.Exit(exit_code_of_interruption())

cli.main()
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_with_a_result_does_not_wait_for_a_program(sent, code):
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_RESULT, "work", str(int(sent))],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == "written\n"
