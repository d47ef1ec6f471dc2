"""However the rows are cut, and however many workers there are, the fit is the same."""

import numpy as np
import pytest

from fewknots import GPClassifier

from .conftest import SETTINGS, cut, rows

pytestmark = pytest.mark.filterwarnings("ignore:the fit had not converged")


@pytest.mark.parametrize("n_workers", [1, 3])
def test_partitions_and_workers_change_nothing(cluster, in_memory, n_workers):
    X, y = rows()
    with cluster(n_workers):
        for partitions in (1, 2, 5):
            fitted = GPClassifier(**SETTINGS).fit(*cut(X, y, partitions))
            assert fitted.log_evidence_ == pytest.approx(in_memory.log_evidence_, rel=1e-8)
            np.testing.assert_allclose(
                fitted.predict_proba(X), in_memory.predict_proba(X), atol=1e-7
            )
            assert fitted.n_evaluations_ == in_memory.n_evaluations_
            np.testing.assert_array_equal(fitted.classes_, ["in time", "late"])
