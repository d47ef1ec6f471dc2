"""More rows inform a posterior at once, as `partial_fit` does in a hundred steps."""

from copy import copy

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.fitting.more_rows import informed
from fewknots.inference.sites import Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
CODES = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0) + 0
THREE = CODES + (X[:, 1] > 0.5)
WEIGHTS = RNG.uniform(0.5, 1.5, size=120)
FIRST, LATER = slice(90), slice(90, None)


def rows(clf, codes, part):
    return Rows(X[part], clf._fitted.likelihood.encoded(codes[part]), WEIGHTS[part])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(CODES, id="two classes"),
        pytest.param(THREE, id="three", marks=pytest.mark.slow),
    ],
)
def first(request):
    clf = GPClassifier("rbf", method="sparse_kl", n_inducing=9, max_iter=5, tol=1e-6, warp=None)
    with pytest.warns(UserWarning, match="not converged"):
        clf.fit(X[FIRST], request.param[FIRST], sample_weight=WEIGHTS[FIRST])
    return clf, request.param


def test_as_partial_fit(first):
    clf, codes = first
    posterior, _ = informed(clf._fitted, rows(clf, codes, LATER), rows(clf, codes, slice(None)))
    mean, variance = posterior.marginals(clf._fitted.standardiser(X))
    later = copy(clf).partial_fit(X[LATER], codes[LATER], sample_weight=WEIGHTS[LATER])
    expected = later._fitted.posterior.marginals(clf._fitted.standardiser(X))
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(variance, expected[1], atol=1e-6)
    before, _ = clf._fitted.posterior.marginals(clf._fitted.standardiser(X))
    assert np.max(np.abs(mean - before)) > 0.01


def test_nothing_new(first):
    """The posterior stays, and its bound is the one that the fit has found."""
    clf, codes = first
    nothing = rows(clf, codes, LATER)._replace(weights=np.zeros(30))
    posterior, bound = informed(clf._fitted, nothing, rows(clf, codes, FIRST))
    assert bound == pytest.approx(clf.log_evidence_, rel=1e-6)
    for mine, theirs in zip(
        posterior.marginals(X), clf._fitted.posterior.marginals(X), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)
