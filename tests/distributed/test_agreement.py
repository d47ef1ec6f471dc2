"""However the rows are cut, and however many workers there are, the fit is the same, bit for bit.

Run to convergence: a search on a surface with many hills lets the smallest difference grow, so
there must be none.
"""

import numpy as np
import pytest

from fewknots import GPClassifier

from ..compiling import optimised
from .conftest import SETTINGS, cut, rows, three_classes

CONVERGED = SETTINGS | {"max_iter": 100, "tol": 1e-3}
X, Y = rows()


@pytest.fixture(autouse=True, scope="module")
def compiled_alike():
    """Here as in Dask's processes."""
    with optimised():
        yield


@pytest.fixture(scope="module")
def in_memory(compiled_alike):
    fitted = GPClassifier(**CONVERGED).fit(X, Y)
    assert fitted.converged_
    assert 5 < fitted.n_iter_ < 60
    return fitted


def assert_same_bound(fitted, other):
    assert fitted.log_evidence_ == other.log_evidence_
    np.testing.assert_array_equal(fitted.history_["bound"], other.history_["bound"])
    np.testing.assert_array_equal(fitted.inducing_points_, other.inducing_points_)


def assert_same(fitted, other, X=X):
    assert_same_bound(fitted, other)
    np.testing.assert_array_equal(fitted.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("n_workers", [1, 3])
def test_partitions_and_workers_change_nothing(cluster, in_memory, n_workers):
    with cluster(n_workers):
        for partitions in (1, 2, 5):
            fitted = GPClassifier(**CONVERGED).fit(*cut(X, Y, partitions))
            assert_same(fitted, in_memory)
            np.testing.assert_array_equal(fitted.classes_, ["in time", "late"])


@pytest.mark.filterwarnings("ignore:the fit had not converged")
def test_three_classes_are_the_same_too(cluster):
    """The first rounds of them: sums are exact, so they need not converge to agree."""
    X, y = rows(300)
    y, few = three_classes(X, y), SETTINGS | {"max_iter": 3, "warp": None}
    expected = GPClassifier(**few).fit(X, y)
    with cluster(3):
        fitted = GPClassifier(**few).fit(*cut(X, y, 5))
    assert_same(fitted, expected, X)
    np.testing.assert_array_equal(fitted.classes_, np.unique(y))
