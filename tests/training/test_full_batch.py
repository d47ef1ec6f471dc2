"""When training in full batch ends: the last gains that no prediction shows are not waited for."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewknots import GPClassifier
from fewknots.optimize import lbfgsb, scg
from fewknots.training.full_batch import Problem


@pytest.mark.parametrize(
    ("optimiser", "total", "gain"),
    [(lbfgsb, 30.0, 0.05), (lbfgsb, 5000.0, 0.05), (lbfgsb, 20_000.0, 0.2), (scg, 30.0, 3e-4)],
)
def test_by_l_bfgs_fewer_than_5000_rows_count_as_5000(optimiser, total, gain):
    """What a gain in nats is worth does not fall with the rows: it is a factor of a probability."""
    given = SimpleNamespace(plateau_gain=1e-5 * total, tol=1e-5, maximise=optimiser.maximise)
    assert Problem.collapsed_plateau_gain.fget(given) == pytest.approx(gain)


def test_few_rows_stop_early_with_the_same_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=120) > 0.5
    usual, long = (GPClassifier(random_state=0, tol=tol).fit(X, y) for tol in (1e-5, 1e-9))
    assert usual.n_iter_ < long.n_iter_
    assert usual.log_evidence_ == pytest.approx(long.log_evidence_, abs=0.1)
    np.testing.assert_allclose(usual.predict_proba(X), long.predict_proba(X), atol=0.01)
