"""kernel="auto" on small tables: structure is found, noise is not, straight lines stay straight."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import fewknots
from fewknots import GPClassifier, GPRegressor
from fewknots.kernels import Constant, Linear, LogNormal, Matern32
from fewknots.kernels.automatic import automatic_kernel

QUICK = {"random_state": 0, "max_iter": 40, "tol": 1e-4}
pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


def nlp(model, X, y):
    return log_loss(y, model.predict_proba(X), labels=model.classes_)


def halves(X, y, n):
    return X[:n], y[:n], X[n:], y[n:]


def flipped(rng, y, share):
    return np.where(rng.random(len(y)) < share, 1 - y, y)


def checkerboard(fields, n, rng, noise=0.0):
    X = rng.random((n, 2))
    return X, flipped(rng, np.floor(fields * X).sum(axis=1).astype(int) % 2, noise)


def test_a_checkerboard_is_found():
    X, y, X_test, y_test = halves(*checkerboard(8, 2500, np.random.default_rng(0)), 1500)
    clf = GPClassifier(**QUICK).fit(X, y)
    assert nlp(clf, X_test, y_test) < 0.35
    assert len(clf.inducing_points_) == 228


def test_a_fast_sine_is_found():
    rng = np.random.default_rng(1)
    X = rng.random((1500, 1))
    y = flipped(rng, (np.sin(2.0 * np.pi * 12.0 * X[:, 0]) > 0).astype(int), 0.05)
    X, y, X_test, y_test = halves(X, y, 500)
    assert nlp(GPClassifier(**QUICK).fit(X, y), X_test, y_test) < 0.35


@pytest.mark.parametrize(
    "arguments",
    [
        {"optimizer": "natural_gradient", "max_iter": 400},
        {"method": "local", "max_iter": 60},
        {"method": "laplace"},
        {"standardize": False},
        {"ard": False},
    ],
)
def test_and_by_other_ways_of_training(arguments):
    rng = np.random.default_rng(2)
    X, y = checkerboard(4, 1000, rng, noise=0.05)
    X, y, X_test, y_test = halves(X * [100.0, 1e-3] if "standardize" in arguments else X, y, 400)
    assert nlp(GPClassifier(**QUICK | arguments).fit(X, y), X_test, y_test) < 0.5


@pytest.mark.computes
def test_several_classes():
    rng = np.random.default_rng(3)
    X = rng.random((1000, 1))
    X, y, X_test, y_test = halves(X, np.floor(15.0 * X[:, 0]).astype(int) % 3, 400)
    assert nlp(GPClassifier(**QUICK).fit(X, y), X_test, y_test) < 0.5


def test_a_fast_wave_of_numbers():
    rng = np.random.default_rng(4)
    X = rng.random((300, 1))
    y = 5.0 + np.sin(2.0 * np.pi * 15.0 * X[:, 0]) + 0.1 * rng.normal(size=300)
    assert GPRegressor(random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9


def test_five_relevant_inputs_of_a_hundred():
    """As good as logistic regression with the penalty that is best for the test rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2200, 100))
    log_odds = X[:, :5] @ [1.5, -1.0, 1.0, 0.7, -0.7]
    y = (rng.random(2200) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    X, y, X_test, y_test = halves(X, y, 200)
    rivals = [LogisticRegression(C=C, max_iter=1000).fit(X, y) for C in 10.0 ** np.arange(-4, 1)]
    theirs = min(nlp(rival, X_test, y_test) for rival in rivals)
    assert theirs < 0.66
    assert nlp(GPClassifier(**QUICK).fit(X, y), X_test, y_test) < theirs + 0.01


def test_noise_stays_near_the_base_rate():
    """In the mean of a few tables, as one of 200 rows can look as if there were something."""
    above = []
    for seed in range(4):
        rng = np.random.default_rng([6, seed])
        X, y = rng.normal(size=(1200, 10)), (rng.random(1200) < 0.2).astype(int)
        X, y, X_test, y_test = halves(X, y, 200)
        share = np.mean(y_test)
        base = -share * np.log(share) - (1.0 - share) * np.log(1.0 - share)
        above.append(nlp(GPClassifier(**QUICK).fit(X, y), X_test, y_test) - base)
    assert np.mean(above) < 0.015


def test_a_straight_line_from_few_rows():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1100, 8))
    y = (rng.random(1100) < 1.0 / (1.0 + np.exp(-X @ np.linspace(-1.0, 1.0, 8)))).astype(int)
    X, y, X_test, y_test = halves(X, y, 100)
    theirs = nlp(LogisticRegression().fit(X, y), X_test, y_test)
    assert nlp(GPClassifier(**QUICK).fit(X, y), X_test, y_test) < theirs + 0.01


# --- the kernel itself ----------------------------------------------------------------------------


def test_medians_are_in_units_of_the_inputs():
    kernel = automatic_kernel(np.array([1.0, 10.0, 100.0, 0.1]))
    smooth, straight, level = kernel.parts()
    assert [type(part) for part in kernel.parts()] == [Matern32, Linear, Constant]
    np.testing.assert_allclose(smooth.lengthscale.median, [2.0, 20.0, 200.0, 0.2])
    assert isinstance(straight.variance, LogNormal)
    assert not straight.ard
    assert isinstance(level.variance, LogNormal)
    assert straight.variance.start == pytest.approx(1.0 / (1.0 + 100.0 + 1e4 + 0.01))
    assert automatic_kernel(np.array([1e200])).parts()[1].variance.start == 1e-30
    one = automatic_kernel(np.array([3.0, 4.0]), ard=False).parts()[0]
    np.testing.assert_allclose(one.lengthscale.median, 2.0**0.5 * 12.5**0.5)


def test_many_inputs_have_more_points():
    """A straight line in 50 inputs is not held by 42 points."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(600, 50))
    y = X.sum(axis=1) > rng.normal(size=600)
    for kernel, count in ("auto", 168), ("rbf", 42):
        clf = GPClassifier(kernel, max_iter=1, random_state=0).fit(X, y)
        assert len(clf.inducing_points_) == count


def test_kept_and_restored(tmp_path):
    rng = np.random.default_rng(8)
    X, y = checkerboard(3, 150, rng)
    clf = GPClassifier(max_iter=3, random_state=0).fit(X, y)
    assert clf.kernel == "auto"
    assert repr(clf.kernel_).startswith("Matern32(lengthscale=[")
    clf.save(tmp_path / "model.fewknots")
    again = fewknots.load(tmp_path / "model.fewknots")
    assert again.kernel == "auto"
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    again.set_params(warm_start=True).fit(X, y)
    assert again.log_evidence_ > clf.log_evidence_ - 1.0


def test_auto_is_no_part_of_a_sum():
    with pytest.raises(ValueError, match="unknown kernel 'auto'"):
        GPClassifier("auto + linear").fit([[0.0], [1.0]], [0, 1])
