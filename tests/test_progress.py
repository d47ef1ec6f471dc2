"""What a running fit tells, to callbacks, to scikit-learn's callbacks and to a terminal."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewknots import GPClassifier, GPRegressor, load
from fewknots.progress import Progress, Reporter

from .waiting import HANGS

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 2))
y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0


def minibatches(**arguments):
    defaults = {"n_inducing": 8, "optimizer": "natural_gradient", "batch_size": 50}
    return GPClassifier(**(defaults | {"max_iter": 300, "random_state": 0} | arguments))


def test_a_callback_sees_all_there_is():
    seen = []
    minibatches(validation_fraction=0.2, callback=seen.append).fit(X, y)
    assert [moment.iteration for moment in seen] == [5, 10, 20, 40, 80, 100, 200, 300]
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
    assert clf.n_iter_ == 10
    assert recorder.events[:3] == ["setup", "begin fit", "begin iteration"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert [moment.iteration for moment in recorder.progress] == [5, 10]
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
        timeout=HANGS,
    )
    assert done.stdout == ""
    for part in ("iteration 300", "bound", "held-out NLP", "passes", "rows/s", "s left"):
        assert part in done.stderr


WAYS = [
    {"method": "sparse_kl", "n_inducing": 8},
    {"method": "sparse_kl", "n_inducing": 8, "optimizer": "lbfgs"},
    {"method": "sparse_mean_field", "n_inducing": 8},
    {"method": "fitc_ep", "n_inducing": 8},
    {"method": "ep"},
    {"method": "ivm", "n_inducing": 20},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))
def test_a_callback_can_ask_for_the_model_of_the_moment(way):
    seen = []

    def follow(now):
        model = now.model()
        seen.append((now, model, model.predict_proba(X)))
        return len(seen) == 4

    clf = GPClassifier(random_state=0, callback=follow, **way).fit(X[:100], y[:100])
    for now, model, probabilities in seen:
        assert model.n_iter_ == now.iteration
        assert model.log_evidence_ == pytest.approx(now.bound)
        np.testing.assert_array_equal(model.predict_proba(X), probabilities)
        assert not model.converged_
    assert np.abs(seen[0][2] - seen[-1][2]).max() > 1e-3
    if way["method"] != "ivm":  # which chooses its rows after the last iteration
        np.testing.assert_allclose(seen[-1][2], clf.predict_proba(X), atol=0.02)
        np.testing.assert_allclose(model.inducing_points_, clf.inducing_points_)


def test_the_model_of_a_moment_of_minibatches():
    models = []
    clf = minibatches(callback=lambda now: models.append(now.model())).fit(X, y)
    assert [model.n_iter_ for model in models] == [5, 10, 20, 40, 80, 100, 200, 300]
    np.testing.assert_array_equal(models[-1].predict_proba(X), clf.predict_proba(X))
    assert np.abs(models[0].predict_proba(X) - clf.predict_proba(X)).max() > 1e-3


def test_the_model_of_a_moment_can_be_saved_and_is_gone_after_it(tmp_path):
    moments = []

    def follow(now):
        now.model().save(tmp_path / f"{now.iteration}.fewknots")
        moments.append(now)

    with pytest.warns(ConvergenceWarning):
        GPClassifier(n_inducing=8, max_iter=3, random_state=0, callback=follow).fit(X, y)
    assert load(tmp_path / "2.fewknots").n_iter_ == 2
    with pytest.raises(RuntimeError, match="inside the callback"):
        moments[0].model()


def test_the_model_of_a_moment_of_a_regressor():
    seen = []
    target = 50.0 + 10.0 * X[:, 0]
    clf = GPRegressor(n_inducing=8, random_state=0, callback=lambda n: seen.append(n.model()))
    clf.fit(X, target)
    assert seen[-1].log_evidence_ == pytest.approx(clf.log_evidence_, abs=0.1)
    np.testing.assert_allclose(seen[-1].predict(X), clf.predict(X), atol=0.1)
