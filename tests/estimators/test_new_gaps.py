"""Gaps where the fit had none: averages over the model's points, beside brute force."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from fewknots import GPClassifier, GPRegressor, InputWarning
from fewknots.estimators import new_gaps
from fewknots.likelihoods import Gaussian

SAID = "have no value in column"


@pytest.fixture(scope="module")
def fitted(moons):
    return GPClassifier(n_inducing=20, max_iter=40, tol=1e-2, random_state=0).fit(*moons)


def with_gaps(X):
    X = X[:12].copy()
    X[0, 1] = X[3, 0] = X[3, 2] = X[5, 1] = np.nan
    return X


def stand_ins(row, points):
    """The rows that a row with gaps stands for, one by one."""
    absent = np.flatnonzero(np.isnan(row))
    order = np.argsort(points[:, absent[0]], kind="stable")
    places = [int((k + 0.5) * len(points) / 16) for k in range(16)]
    found = []
    for place in places:
        one = row.copy()
        one[absent] = points[order[place], absent]
        found.append(one)
    return np.array(found)


def test_probabilities_are_averaged(fitted, moons):
    X = with_gaps(moons[0])
    with pytest.warns(InputWarning, match=f"3 of 12 rows of X {SAID} 0, column 1, column 2"):
        p = fitted.predict_proba(X)
    whole = ~np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(p[whole], fitted.predict_proba(X[whole]))
    for row in (0, 3, 5):
        each = fitted.predict_proba(stand_ins(X[row], fitted.inducing_points_))
        np.testing.assert_allclose(p[row], each.mean(axis=0), rtol=1e-12)
        assert each[:, 1].std() > 0.01


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_all_predictions_agree(fitted, moons):
    X = with_gaps(moons[0])
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(norm.cdf(fitted.decision_function(X)), p[:, 1], rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), p.argmax(axis=1))
    mean, variance = fitted.predict_latent(X)
    for row in (0, 3, 5):
        m, v = fitted.predict_latent(stand_ins(X[row], fitted.inducing_points_))
        np.testing.assert_allclose(mean[row], m.mean())
        np.testing.assert_allclose(variance[row], v.mean() + m.var())


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_an_input_that_says_nothing_may_be_missing(moons):
    """With a kernel that does not look at it nothing changes."""
    from fewknots.kernels import RBF

    X, y = moons
    clf = GPClassifier(RBF(columns=[0, 1]), n_inducing=10, learn_kernel=False, random_state=0)
    clf.fit(X, y)
    gaps = X[:6].copy()
    gaps[:, 2] = np.nan
    np.testing.assert_allclose(clf.predict_proba(gaps), clf.predict_proba(X[:6]), rtol=1e-10)


@pytest.mark.filterwarnings(f"ignore:.*{SAID}", "ignore:the fit had not converged")
@pytest.mark.parametrize("arguments", [{"method": "local"}, {"method": "full_kl"}])
def test_other_methods(moons, three_classes, arguments):
    X, y = moons
    clf = GPClassifier(max_iter=3, tol=0.1, random_state=0, **arguments).fit(X, y)
    p = clf.predict_proba(with_gaps(X))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    many, X, _ = three_classes
    p = many.predict_proba(with_gaps(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert many.predict_latent(with_gaps(X))[0].shape == (12, 3)


@pytest.mark.filterwarnings(f"ignore:.*{SAID}")
def test_a_regressor(moons):
    X, _ = moons
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    reg = GPRegressor(n_inducing=20, learn_kernel=False, random_state=0).fit(X, y)
    gaps = with_gaps(X)
    mean, std = reg.predict(gaps, return_std=True)
    levels = [0.01, 0.3, 0.5, 0.9]
    quantiles = reg.predict_quantiles(gaps, levels)
    for row in (0, 3, 5):
        m, s = reg.predict(stand_ins(gaps[row], reg.inducing_points_), return_std=True)
        np.testing.assert_allclose([mean[row], std[row] ** 2], [m.mean(), (s**2).mean() + m.var()])
        below = norm.cdf(quantiles[row][:, None], m, s).mean(axis=1)
        np.testing.assert_allclose(below, levels, atol=0.01)
    whole = ~np.isnan(gaps).any(axis=1)
    np.testing.assert_array_equal(quantiles[whole], reg.predict_quantiles(gaps[whole], levels))
    assert isinstance(reg.likelihood_, Gaussian)


def test_a_whole_row_that_is_missing_is_what_the_rows_say_on_average(fitted, moons):
    with pytest.warns(InputWarning, match=SAID):
        p = fitted.predict_proba(np.full((1, 3), np.nan))[0, 1]
    assert abs(p - moons[1].mean()) < 0.2


def test_numbers_too_large_beside_a_gap(fitted):
    with pytest.raises(ValueError, match=r"column 1 of X holds 1e\+300 in row 1, too large"):
        fitted.predict(np.array([[np.nan, 0.0, 0.0], [0.0, 1e300, 0.0]]))


def test_many_rows_go_through_in_pieces(fitted, moons, monkeypatch):
    X = np.repeat(with_gaps(moons[0]), 3, axis=0)
    with pytest.warns(InputWarning, match=SAID):
        wanted = fitted.predict_proba(X)
    monkeypatch.setattr(new_gaps, "_ROWS_AT_ONCE", 4)
    with pytest.warns(InputWarning, match=SAID):
        np.testing.assert_allclose(fitted.predict_proba(X), wanted, rtol=1e-12)


def test_names_of_columns(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = GPClassifier(n_inducing=8, learn_kernel=False).fit(frame, y)
    with pytest.warns(InputWarning, match="80 of 80 rows of X have no value in column 'b', where"):
        clf.predict(frame.assign(b=np.nan))
