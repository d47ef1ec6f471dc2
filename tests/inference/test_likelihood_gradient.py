"""The evidence's derivative for the likelihood's own parameters, against finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fewknots.inference.ep import EP
from fewknots.inference.features import whiten
from fewknots.inference.fitc_ep import FitcEP
from fewknots.inference.full_kl import FullKL
from fewknots.inference.ivm import IVM
from fewknots.inference.laplace import Laplace
from fewknots.inference.method import Budget
from fewknots.inference.sites import Rows, WhitenedGaussian
from fewknots.inference.sparse_kl import SparseKL
from fewknots.inference.two_stage import TwoStage
from fewknots.kernels import RBF
from fewknots.likelihoods import Gaussian
from fewknots.training.row_sums import row_sums

from ..likelihoods.sharpened import Sharpened

RNG = np.random.default_rng(3)
N = 24
X = RNG.normal(size=(N, 2))
SIGNS = np.sign(X[:, 0] ** 2 + X[:, 1] - 0.7 + 0.5 * RNG.normal(size=N))
Z = RNG.normal(size=(6, 2))
WEIGHTS = {
    "any": RNG.uniform(0.3, 2.0, size=N),
    "copies": RNG.uniform(1.0, 3.0, size=N),
    "whole": np.ones(N),
}
KERNEL = RBF(np.array([0.8, 1.5]), np.array(2.0))
METHODS = [FullKL(), SparseKL(), TwoStage(), Laplace(), EP(), EP("sequential"), FitcEP(), IVM()]
LIKELIHOODS = {
    "noise": (Gaussian, 0.3),
    "logit": (Sharpened, 1.7),
}


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_of_every_method(method, name):
    make, value = LIKELIHOODS[name]
    rows = Rows(*map(jnp.asarray, (X, SIGNS, WEIGHTS[method.weights])))
    points = jnp.asarray(Z) if method.sparse else None

    @jax.jit
    def evaluated(value):
        budget = Budget(jnp.asarray(0.0), 300)
        start = method.start(rows)
        return method.evaluate(KERNEL, points, make(value), rows, start, jnp.asarray(1e-10), budget)

    h = 1e-4 * value
    up, down = (float(evaluated(jnp.asarray(value + step)).evidence) for step in (h, -h))
    (found,) = jax.tree.leaves(evaluated(jnp.asarray(value)).d_likelihood)
    assert float(found) == pytest.approx((up - down) / (2 * h), rel=2e-5, abs=2e-5)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_of_sums_over_rows(name):
    """What minibatches, rounds and Dask add up: at any q, not only at the best."""
    make, value = LIKELIHOODS[name]
    rows = Rows(*map(jnp.asarray, (X, SIGNS, WEIGHTS["any"])))
    factor = jnp.asarray(np.tril(0.3 * RNG.normal(size=(1, 6, 6))) + np.eye(6))
    q = WhitenedGaussian(jnp.asarray(RNG.normal(size=(1, 6))), factor, jnp.asarray(0.0))
    whitening = whiten(KERNEL, jnp.asarray(Z), 1e-10)

    def sums(value):
        return row_sums(whitening, make(jnp.asarray(value)), q, rows, np.float64, rough=False)

    h = 1e-4 * value
    difference = float(sums(value + h).log_prob - sums(value - h).log_prob) / (2 * h)
    (found,) = jax.tree.leaves(sums(value).d_likelihood)
    assert float(found) == pytest.approx(difference, rel=1e-6)
