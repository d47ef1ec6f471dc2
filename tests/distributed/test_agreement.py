"""However the rows are cut, and however many workers there are, the fit is the same, bit for bit.

Run to convergence: a search on a surface with many hills lets the smallest difference grow, so
there must be none.
"""

import numpy as np
import pytest

from fewknots import GPClassifier

from .conftest import SETTINGS, cut, rows, three_classes

CONVERGED = SETTINGS | {"max_iter": 100, "tol": 1e-3}
X, Y = rows()
LABELS = {"two": Y, "three": three_classes(X, Y)}


@pytest.fixture(scope="module", params=["two", "three"])
def in_memory(request):
    """How many classes, and the fit of all rows at once."""
    fitted = GPClassifier(**CONVERGED).fit(X, LABELS[request.param])
    assert fitted.converged_
    assert 5 < fitted.n_iter_ < 60
    return request.param, fitted


def assert_same(fitted, other):
    assert fitted.log_evidence_ == other.log_evidence_
    np.testing.assert_array_equal(fitted.history_["bound"], other.history_["bound"])
    np.testing.assert_array_equal(fitted.inducing_points_, other.inducing_points_)
    np.testing.assert_array_equal(fitted.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("n_workers", [1, 3])
def test_partitions_and_workers_change_nothing(cluster, in_memory, n_workers):
    y, expected = LABELS[in_memory[0]], in_memory[1]
    with cluster(n_workers):
        for partitions in (1, 2, 5):
            fitted = GPClassifier(**CONVERGED).fit(*cut(X, y, partitions))
            assert_same(fitted, expected)
            np.testing.assert_array_equal(fitted.classes_, np.unique(y))
