"""What GPClassifier promises its users."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from fewknots import GPClassifier, Progress
from fewknots.kernels import RBF, Linear, Matern32

from ..ida import ida_split
from ..waiting import HANGS


def quick(**arguments):
    defaults = {"kernel": "rbf", "n_inducing": 8, "max_iter": 200, "tol": 1e-3, "random_state": 0}
    return GPClassifier(**defaults | arguments)


@pytest.fixture(scope="module")
def fitted(moons):
    return quick().fit(*moons)


# --- what a fitted classifier has and says --------------------------------------------------------


def test_fitted_attributes(fitted, moons):
    X, _ = moons
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    assert fitted.n_features_in_ == 3
    assert fitted.inducing_points_.shape == (8, 3)
    # in the user's units: column 1 lies around 5, column 2 around -1
    distance = np.abs(np.median(fitted.inducing_points_, axis=0) - X.mean(axis=0))
    assert np.all(distance < 2 * X.std(axis=0))
    assert fitted.kernel_.lengthscale.shape == (3,)
    assert np.isfinite(fitted.log_evidence_)
    assert fitted.converged_
    assert fitted.n_iter_ == len(fitted.history_["bound"])
    assert np.all(np.diff(fitted.history_["seconds"]) >= 0)
    assert fitted.history_["iteration"][0] == 1
    assert fitted.history_["bound"][-1] == pytest.approx(fitted.log_evidence_, abs=0.1)


def test_predictions_agree_with_each_other(fitted, moons):
    X, _ = moons
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), p, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), (p[:, 1] > 0.5).astype(int))
    np.testing.assert_allclose(norm.cdf(fitted.decision_function(X)), p[:, 1], rtol=1e-9)
    mean, variance = fitted.predict_latent(X)
    np.testing.assert_allclose(norm.cdf(mean / np.sqrt(1 + variance)), p[:, 1], rtol=1e-9)
    assert np.all(variance > 0)


def test_far_away_the_prior_returns(fitted):
    mean, variance = fitted.predict_latent(np.full((1, 3), 1e6))
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(variance, fitted.kernel_.variance)


def test_blocks_do_not_show(fitted, moons):
    """Predictions do not depend on how many rows are asked for at once."""
    X, _ = moons
    many = np.resize(X, (9000, 3))
    whole = fitted.predict_proba(many)
    np.testing.assert_allclose(whole[:80], fitted.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(whole[8999], fitted.predict_proba(many[8999:])[0], rtol=1e-12)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_both_links_learn(moons, link):
    X, y = moons
    assert quick(likelihood=link).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("init", ["kmeans", "greedy", "random"])
def test_every_start_learns(moons, init):
    X, y = moons
    assert quick(inducing_init=init).fit(X, y).score(X, y) > 0.8


def test_ard_finds_the_input_that_does_not_matter(moons):
    X, y = moons
    scales = quick(n_inducing=15).fit(X, y).kernel_.lengthscale
    assert np.argmax(scales) == 2
    one = quick(ard=False).fit(X, y).kernel_.lengthscale
    assert one.shape == ()
    assert quick(kernel=Matern32(ard=False)).fit(X, y).kernel_.lengthscale.shape == ()


def test_names_of_kernels(moons):
    X, y = moons
    clf = quick(kernel="matern32 + linear", max_iter=5)
    with pytest.warns(ConvergenceWarning):
        clf.fit(X, y)
    assert isinstance(clf.kernel_.k1, Matern32)
    assert isinstance(clf.kernel_.k2, Linear)


# --- what is learned, and how ---------------------------------------------------------------------


def test_nothing_learned_but_q(moons):
    X, y = moons
    Z = X[:6]
    clf = GPClassifier(
        RBF(2.0, 3.0), inducing_points=Z, learn_kernel=False, learn_inducing=False
    ).fit(X, y)
    np.testing.assert_allclose(clf.inducing_points_, Z, rtol=1e-12)
    np.testing.assert_allclose(clf.kernel_.lengthscale, 2.0)
    assert clf.kernel_.variance == 3.0
    assert clf.n_iter_ == 1


def test_each_part_can_be_held(moons):
    X, y = moons
    Z = X[:8]
    held_z = quick(inducing_points=Z, learn_inducing=False).fit(X, y)
    np.testing.assert_allclose(held_z.inducing_points_, Z, rtol=1e-10)
    assert held_z.kernel_.variance != 1.0
    held_kernel = quick(kernel=RBF(2.0, 3.0), inducing_points=Z, learn_kernel=False).fit(X, y)
    np.testing.assert_allclose(held_kernel.kernel_.lengthscale, 2.0)
    assert np.max(np.abs(held_kernel.inducing_points_ - Z)) > 1e-3
    assert held_z.log_evidence_ < quick(inducing_points=Z).fit(X, y).log_evidence_ + 1e-6


def test_collapsed_ends_no_lower_than_joint(moons):
    X, y = moons
    collapsed = quick(tol=1e-6, max_iter=1000).fit(X, y)
    joint = quick(tol=1e-6, max_iter=3000, optimizer="lbfgs").fit(X, y)
    assert collapsed.log_evidence_ > joint.log_evidence_ - 0.1


def test_the_bound_only_rises(fitted):
    rises = np.diff(fitted.history_["bound"])
    assert np.all(rises > -1e-2)  # the inner solve is finished to a share of the outer gain


@pytest.mark.parametrize("optimizer", ["collapsed", "lbfgs"])
def test_running_out_of_iterations_is_said(moons, optimizer):
    X, y = moons
    clf = quick(max_iter=3, optimizer=optimizer)
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=3 iterations"):
        clf.fit(X, y)
    assert not clf.converged_
    assert clf.n_iter_ == 3
    assert clf.score(X, y) > 0.6


def test_callback_sees_and_stops(moons):
    X, y = moons
    seen = []

    def callback(progress):
        assert isinstance(progress, Progress)
        seen.append(progress)
        return progress.iteration == 4

    clf = quick(callback=callback).fit(X, y)
    assert [p.iteration for p in seen] == [1, 2, 3, 4]
    assert clf.n_iter_ == 4
    assert not clf.converged_
    assert clf.score(X, y) > 0.6


def test_verbose_writes_progress_to_stderr(moons, capfd):
    X, y = moons
    quick(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "iteration" in err
    assert "bound" in err


# --- what may go in -------------------------------------------------------------------------------

NAMES = ["height", "weight", "age"]
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame({n: X[:, i] for i, n in enumerate(NAMES)}),
    "pyarrow": lambda X: pa.table({n: X[:, i] for i, n in enumerate(NAMES)}),
    "lists": lambda X: X.tolist(),
    "float32": lambda X: X.astype(np.float32).astype(np.float64),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables(fitted, moons, kind):
    X, y = moons
    table = TABLES[kind](X)
    clf = quick().fit(table, y)
    np.testing.assert_allclose(clf.predict_proba(table), fitted.predict_proba(X), atol=1e-3)
    if kind in ("pandas", "polars", "pyarrow"):
        np.testing.assert_array_equal(clf.feature_names_in_, NAMES)


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (False, True), (-1, 1), (3, 7), (0.0, 1.0)], ids=repr
)
def test_any_two_labels(fitted, moons, labels):
    X, y = moons
    y = np.array(labels)[y]
    clf = quick().fit(X, y)
    np.testing.assert_array_equal(clf.classes_, labels)
    assert set(clf.predict(X)) <= set(labels)
    np.testing.assert_array_equal(clf.predict_proba(X), fitted.predict_proba(X))


def test_labels_from_a_table(moons):
    X, y = moons
    series = pd.Series(np.where(y, "spam", "ham"), dtype=object)
    assert quick().fit(X, series).predict(X[:1])[0] in ("spam", "ham")


def test_a_weight_of_two_is_a_row_given_twice(moons):
    X, y = moons
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    weighted = quick().fit(X, y, sample_weight=weights)
    repeated = quick().fit(np.vstack([X, X[:20]]), np.concatenate([y, y[:20]]))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.log_evidence_ == repeated.log_evidence_


def test_class_weights_multiply_the_terms(moons):
    X, y = moons
    by_class = quick(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = quick().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = quick(class_weight="balanced").fit(X, y)
    n1 = y.sum()
    by_hand = quick(class_weight={0: 40 / (80 - n1), 1: 40 / n1}).fit(X, y)
    np.testing.assert_allclose(balanced.log_evidence_, by_hand.log_evidence_, rtol=1e-9)


def test_row_order_does_not_matter(fitted, moons):
    X, y = moons
    order = np.random.default_rng(0).permutation(80)
    np.testing.assert_array_equal(
        quick().fit(X[order], y[order]).predict_proba(X), fitted.predict_proba(X)
    )


def test_units_do_not_matter(fitted, moons):
    X, y = moons
    scale, shift = np.array([1e-3, 1e4, 2.0]), np.array([0.0, -7.0, 1e3])
    other = quick().fit(X * scale + shift, y)
    np.testing.assert_allclose(
        other.predict_proba(X * scale + shift), fitted.predict_proba(X), atol=5e-3
    )


# --- promises about the process -------------------------------------------------------------------


def test_importing_and_fitting_leave_jax_as_it_was():
    program = """
import jax, numpy as np
values = dict(jax.config.values)
from fewknots import GPClassifier
assert dict(jax.config.values) == values, "import"
X = np.random.default_rng(0).normal(size=(30, 2))
clf = GPClassifier(n_inducing=4, max_iter=50, tol=1e-2).fit(X, X[:, 0] > 0)
assert clf.predict_proba(X).dtype == np.float64
assert clf.posterior_.points.dtype == np.float64
assert dict(jax.config.values) == values, "fit"
assert jax.numpy.ones(1).dtype == np.float32
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr


def test_memory_of_prediction_does_not_grow_with_rows():
    """Two million rows: beyond input and output, no more than twenty thousand rows need."""
    program = """
import resource, sys
import numpy as np
from fewknots import GPClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
clf = GPClassifier(n_inducing=100, learn_kernel=False, learn_inducing=False).fit(X, X[:, 0] > 0)
clf.predict(rng.normal(size=(20_000, 2)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = 2_000_000
X = np.zeros((n, 2))
clf.predict(X)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
rows = n * 8 / 2**20  # one float64 column, in MiB
# X itself (2 columns), mean and variance, the comparison and the labels: at most 7 columns
assert grown < 7 * rows, f"{grown} MiB for {rows} MiB a column"
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr


def test_banana_with_the_settings_of_the_readme():
    X, y, X_test, y_test = ida_split("banana")
    clf = GPClassifier("rbf", warp=None, n_inducing=16, random_state=0).fit(X, y)
    log_prob = clf.predict_log_proba(X_test)[np.arange(len(y_test)), y_test]
    assert -log_prob.mean() <= 0.255
    assert np.mean(clf.predict(X_test) != y_test) <= 0.12
