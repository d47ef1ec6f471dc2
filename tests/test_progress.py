"""What a running fit tells, to callbacks, to scikit-learn's callbacks and to a terminal."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.progress import Progress, Reporter

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 2))
y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0


def minibatches(**arguments):
    defaults = {"n_inducing": 8, "optimizer": "natural_gradient", "batch_size": 50}
    return GPClassifier(**(defaults | {"max_iter": 300, "random_state": 0} | arguments))


def test_a_callback_sees_all_there_is():
    seen = []
    minibatches(validation_fraction=0.2, callback=seen.append).fit(X, y)
    assert [moment.iteration for moment in seen] == [100, 200, 300]
    last = seen[-1]
    assert isinstance(last, Progress)
    assert last.passes == pytest.approx(300 * 50 / 240)
    assert last.rows_per_second > 0
    assert 0 < last.held_out_nlp < 0.69
    assert last.seconds_left == 0.0
    assert seen[0].seconds_left > 0


def test_full_batches_honour_max_time():
    clf = GPClassifier(n_inducing=8, max_time=1e-6, random_state=0).fit(X, y)
    assert clf.n_iter_ <= 2
    assert not clf.converged_


def test_a_history_is_taken_up():
    first = Reporter(None, 0, 10)
    first(-5.0, 100, held_out_nlp=0.5)
    second = Reporter(None, 0, 10)
    second.take_up(first.history())
    second(-4.0, 100, held_out_nlp=0.4)
    history = second.history()
    np.testing.assert_array_equal(history["iteration"], [100, 200])
    np.testing.assert_array_equal(history["held_out_nlp"], [0.5, 0.4])
    assert history["seconds"][1] >= history["seconds"][0]


def test_scikit_learns_callbacks():
    callback = pytest.importorskip("sklearn.callback")

    class Recorder:
        def __init__(self, stop_after):
            self.events, self.stop_after, self.progress = [], stop_after, []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context, *, metadata=None):
            self.events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            self.events.append(f"end {context.task_name}")
            if metadata:
                self.progress.append(metadata["progress"])
            return len(self.progress) >= self.stop_after

    assert isinstance(Recorder(1), callback.FitCallback)
    recorder = Recorder(stop_after=2)
    clf = minibatches().set_callbacks(recorder).fit(X, y)
    assert clf.n_iter_ == 200
    assert recorder.events[:3] == ["setup", "begin fit", "begin iteration"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert [moment.iteration for moment in recorder.progress] == [100, 200]
    # torn down also when the fit fails
    recorder = Recorder(stop_after=2)
    with pytest.raises(ValueError, match="must be a whole number"):
        minibatches(batch_size=0).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == "teardown"


def test_the_line_on_the_terminal():
    script = """
import numpy as np
from fewknots import GPClassifier
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 2))
GPClassifier(n_inducing=8, optimizer="natural_gradient", batch_size=50, max_iter=300, verbose=1,
             validation_fraction=0.2, random_state=0).fit(X, X[:, 0] > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == ""
    for part in ("iteration 300", "bound", "held-out NLP", "passes", "rows/s", "s left"):
        assert part in done.stderr
