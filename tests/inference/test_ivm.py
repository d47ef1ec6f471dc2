"""The informative vector machine's choice, step by step, against the posterior from its sites."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from fewknots.inference.ivm import choose_rows
from fewknots.inference.sites import Rows
from fewknots.kernels import RBF
from fewknots.likelihoods import Bernoulli

from ..reference import rbf

RNG = np.random.default_rng(6)
X = RNG.normal(size=(30, 2))
y = np.where(X[:, 0] * X[:, 1] + 0.2 * RNG.normal(size=30) > 0, 1.0, -1.0)


def test_every_row_taken_is_the_most_informative_and_its_site_is_right(float64):
    kernel = RBF(jnp.full(2, 0.9), jnp.asarray(2.0))
    rows = Rows(jnp.asarray(X), jnp.asarray(y), jnp.ones(30))
    chosen = jax.jit(lambda: choose_rows(kernel, Bernoulli(), rows, 12))()
    K = rbf(X, X, 0.9, 2.0)
    indices = np.asarray(chosen.indices)
    b, g = np.asarray(chosen.sites.precision[0]), np.asarray(chosen.sites.linear[0])
    assert len(set(indices.tolist())) == 12
    log_evidence = 0.0
    for i, n in enumerate(indices):
        active = indices[:i]
        # the posterior of all rows given the sites so far
        gain = np.linalg.solve(K[np.ix_(active, active)] + np.diag(1.0 / b[:i]), K[active])
        mean = gain.T @ (g[:i] / b[:i])
        variance = np.diagonal(K) - np.sum(K[active] * gain, axis=0)
        z = y * mean / np.sqrt(1.0 + variance)
        ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
        c = ratio * (z + ratio) / (1.0 + variance)
        reduction = -0.5 * np.log(1.0 - c * variance)
        reduction[active] = -np.inf
        assert n == np.argmax(reduction)
        slope = y[n] * ratio[n] / np.sqrt(1.0 + variance[n])
        kept = 1.0 - variance[n] * c[n]
        np.testing.assert_allclose(b[i], c[n] / kept, rtol=1e-8)
        np.testing.assert_allclose(g[i], (slope + c[n] * mean[n]) / kept, rtol=1e-8)
        log_evidence += norm.logcdf(z[n])
    np.testing.assert_allclose(float(chosen.log_evidence), log_evidence, rtol=1e-9)
