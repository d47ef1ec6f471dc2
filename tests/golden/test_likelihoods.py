"""Numbers from GPflow for likelihoods of numbers and of ordered classes: bound and predictions."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots import GPRegressor
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows
from fewknots.inference.sparse_kl import SparseKL
from fewknots.kernels import RBF
from fewknots.likelihoods import (
    Beta,
    Gamma,
    Heteroscedastic,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
)
from fewknots.numerics.precision import computing_in

from . import likelihood_cases as cases

REFERENCE = json.loads((Path(__file__).parent / "numbers" / "likelihoods.json").read_text())
LIKELIHOODS = {
    "beta": Beta(1.3, 8.0),
    "gamma": Gamma(2.5, 3.0),
    "heteroscedastic": Heteroscedastic(0.2),
    "negative_binomial": NegativeBinomial(3.0, 0.5),
    "poisson": Poisson(1.7),
    "student_t": StudentT(0.3, 1.5),
}
FIXED = {"learn_kernel": False, "learn_inducing": False, "standardize": False, "warp": None}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_equal_to_gpflow(name):
    X, targets = cases.rows()
    y, want, likelihood = targets[name], REFERENCE[name], LIKELIHOODS[name]
    reg = GPRegressor(
        RBF(cases.LENGTHSCALE, cases.VARIANCE), likelihood=likelihood, learn_noise=False,
        method="sparse_kl", inducing_points=X[: cases.POINTS],
        jitter=cases.JITTER / cases.VARIANCE, tol=1e-12, **FIXED,
    ).fit(X, y)  # fmt: skip
    assert reg.log_evidence_ == pytest.approx(want["bound"], abs=1e-6)
    mean, variance = (part.reshape(5, -1).T for part in reg.predict_latent(cases.NEW))
    np.testing.assert_allclose(mean, want["latent_mean"], atol=1e-5)
    np.testing.assert_allclose(variance, want["latent_variance"], atol=1e-5)
    with computing_in(np.dtype(np.float64)):
        log_density = reg.likelihood_.tilted(*map(jnp.asarray, (y[:5], mean, variance))).log_prob
    # Two functions: GPflow's rule in two dimensions still moves by 1e-3 from 60² nodes to 300².
    near = 1e-4 if name == "heteroscedastic" else 1e-5
    np.testing.assert_allclose(log_density, want["log_density"], rtol=near, atol=near)
    mean, deviation = reg.predict(cases.NEW, return_std=True)
    np.testing.assert_allclose(mean, want["mean"], rtol=1e-4)
    np.testing.assert_allclose(deviation**2, want["variance"], rtol=1e-4)


def test_ordered_classes_equal_to_gpflow(float64):
    """At cut points that the estimator has no argument for."""
    X, targets = cases.rows()
    want = REFERENCE["ordinal"]
    likelihood = Ordinal(4, np.diff(np.exp([-0.7, 0.4, 1.1]), prepend=0.0))
    kernel = RBF(np.array([cases.LENGTHSCALE]), np.asarray(cases.VARIANCE))
    rows, method = Rows(X, targets["ordinal"], np.ones(40)), SparseKL()

    @jax.jit
    def evaluated(kernel, likelihood, rows, start, jitter):
        budget = Budget(jnp.asarray(1e-13), 300)
        points = X[: cases.POINTS]
        return method.evaluate(kernel, points, likelihood, rows, start, jitter, budget)

    jitter = np.asarray(cases.JITTER / cases.VARIANCE)
    found = evaluated(kernel, likelihood, rows, method.start(rows), jitter)
    assert float(found.evidence) == pytest.approx(want["bound"], abs=1e-6)
    posterior = method.posterior(kernel, X[: cases.POINTS], rows, found.held)
    mean, variance = posterior.marginals(cases.NEW)
    np.testing.assert_allclose(mean, want["latent_mean"], atol=1e-5)
    np.testing.assert_allclose(variance, want["latent_variance"], atol=1e-5)
    y = jnp.asarray(targets["ordinal"][:5])
    log_density = likelihood.tilted(y, jnp.asarray(mean), jnp.asarray(variance)).log_prob
    np.testing.assert_allclose(log_density, want["log_density"], atol=1e-5)
